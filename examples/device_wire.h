/* What any device of one joint in C needs of the wire: an output read, a device's message sent.
   An output that docs/protocol.md refuses is refused here, no more and no less. Needs libzmq and msgpack-c. */
#include <math.h>
#include <msgpack.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

enum { MOST_BYTES = 4096, LARGEST_PART = 65536, MOST_WAITING = 64, LEAP = 10000 };
typedef struct {
  char session[17];
  int64_t v, seq, sent;
  double valid_ms, time, tick_ms, torque, most, angle, speed;
  int armed, answer;
} Output;
typedef struct { int64_t seq, t; double torque, limit; const char *state, *fault; } Reply;

static int64_t now(void) { /* [ns], of the clock that stamps outputs on this machine, too */
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)1000000000 * t.tv_sec + t.tv_nsec;
}
static double within(double torque, double most) { /* zero where either is no number, or most is below 0 */
  return isfinite(torque) && isfinite(most) && most >= 0.0 ? fmax(-most, fmin(most, torque)) : 0.0;
}
static int same(msgpack_object o, const char *s) {
  return o.type == MSGPACK_OBJECT_STR && o.via.str.size == strlen(s) && !memcmp(o.via.str.ptr, s, strlen(s));
}
static int whole(msgpack_object o, int64_t *n) {
  *n = (int64_t)o.via.u64;
  return o.type == MSGPACK_OBJECT_POSITIVE_INTEGER && o.via.u64 <= INT64_MAX;
}
static int number(msgpack_object o, double *x) {
  if (o.type == MSGPACK_OBJECT_FLOAT64 || o.type == MSGPACK_OBJECT_FLOAT32) *x = o.via.f64;
  else if (o.type == MSGPACK_OBJECT_POSITIVE_INTEGER) *x = (double)o.via.u64;
  else if (o.type == MSGPACK_OBJECT_NEGATIVE_INTEGER) *x = (double)o.via.i64;
  else return 0;
  return isfinite(*x);
}
static int single(msgpack_object o, double *x) { /* the list of a device of one joint */
  return o.type == MSGPACK_OBJECT_ARRAY && o.via.array.size == 1 && number(o.via.array.ptr[0], x);
}
static int lasts(msgpack_object o, double *ms) { return number(o, ms) && *ms > 0.0 && *ms <= 1000.0; }
static int flag(msgpack_object o, int *b) { /* where it is none, its byte is not to be read as one */
  return o.type == MSGPACK_OBJECT_BOOLEAN ? (*b = o.via.boolean, 1) : 0;
}
static int session(msgpack_object o, char *s) {
  if (o.type != MSGPACK_OBJECT_STR || o.via.str.size != 16) return 0;
  memcpy(s, o.via.str.ptr, 16);
  return strspn(s, "0123456789abcdef") == 16;
}
static int entry(msgpack_object key, msgpack_object x, Output *m) { /* 1: of an output, 0: unknown, -1: bad */
  int good = same(key, "v")              ? whole(x, &m->v) && m->v == 1
             : same(key, "type")         ? same(x, "output")
             : same(key, "session")      ? session(x, m->session)
             : same(key, "seq")          ? whole(x, &m->seq)
             : same(key, "t_sent")       ? whole(x, &m->sent) && m->sent <= now() /* else never too old */
             : same(key, "valid_for_ms") ? lasts(x, &m->valid_ms)
             : same(key, "armed")        ? flag(x, &m->armed)
             : same(key, "time")         ? number(x, &m->time)
             : same(key, "tick_ms")      ? lasts(x, &m->tick_ms)
             : same(key, "torque")       ? single(x, &m->torque)
             : same(key, "torque_max")   ? single(x, &m->most) && m->most >= 0.0
             : same(key, "angle")        ? single(x, &m->angle)
             : same(key, "speed")        ? single(x, &m->speed)
                                         : 2;
  if (same(key, "answer")) return flag(x, &m->answer) ? 0 : -1; /* which may be left out */
  return good == 2 ? (key.type == MSGPACK_OBJECT_STR ? 0 : -1) : good ? 1 : -1;
}
static int is_output(msgpack_object all, Output *m) { /* all 13 keys, each once */
  int known = 0, kind;
  if (all.type != MSGPACK_OBJECT_MAP) return 0;
  for (uint32_t i = 0; i < all.via.map.size; i++) {
    msgpack_object_kv *at = all.via.map.ptr + i;
    for (uint32_t k = 0; k < i; k++)
      if (msgpack_object_equal(at->key, all.via.map.ptr[k].key)) return 0;
    if ((kind = entry(at->key, at->val, m)) < 0) return 0;
    known += kind;
  }
  return known == 13;
}
static int receive(void *socket, Output *out) { /* 1: an output, 0: a message of no use, -1: nothing there */
  static char part[2][MOST_BYTES];
  Output m = {.session = ""};
  int size, n = 0, more = 1;
  for (size_t room = sizeof more; more; n++) {
    if ((size = zmq_recv(socket, part[n > 0], MOST_BYTES, ZMQ_DONTWAIT)) < 0) return -1;
    if (n == 0 && (size != 6 || memcmp(part[0], "output", 6))) n = 2; /* then there are too many parts */
    zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &room);
  }
  msgpack_unpacked all;
  size_t end = 0;
  msgpack_unpacked_init(&all);
  int good = n == 2 && size <= MOST_BYTES && msgpack_unpack_next(&all, part[1], size, &end) > 0;
  good = good && end == (size_t)size && is_output(all.data, &m);
  msgpack_unpacked_destroy(&all);
  return good ? (*out = m, 1) : 0;
}
static int follows(const Output *last, const Output *m) { /* is it newer, by its number? */
  static int64_t doubtful = -2; /* a leap is believed when the next one carries on */
  if (strcmp(m->session, last->session)) return doubtful = -2, 1;
  int far = m->seq > last->seq ? m->seq - last->seq - 1 > LEAP : last->seq - m->seq > LEAP;
  if (!far) return m->seq > last->seq;
  return m->seq - 1 == doubtful ? 1 : (doubtful = m->seq, 0); /* no sum that may overflow */
}
static void connect_again(void *socket, void *lost, const char *address) { /* libzmq does not after a fault */
  char event[64];
  int n = 0;
  while (zmq_recv(lost, event, sizeof event, ZMQ_DONTWAIT) >= 0) n++;
  if (n) zmq_disconnect(socket, address), zmq_connect(socket, address);
}
static void *dealer(const char *address, void **lost) { /* a socket; lost : tells where it was cut off */
  void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_DEALER);
  int few = 16, one = 1, waiting = MOST_WAITING;
  int64_t largest = LARGEST_PART;
  zmq_setsockopt(socket, ZMQ_SNDHWM, &few, sizeof few);
  zmq_setsockopt(socket, ZMQ_RCVHWM, &waiting, sizeof waiting);
  zmq_setsockopt(socket, ZMQ_IMMEDIATE, &one, sizeof one);
  zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &largest, sizeof largest);
  zmq_socket_monitor(socket, "inproc://lost", ZMQ_EVENT_DISCONNECTED);
  *lost = zmq_socket(context, ZMQ_PAIR);
  return zmq_connect(*lost, "inproc://lost") || zmq_connect(socket, address) ? NULL : socket;
}
static msgpack_object text(const char *s) {
  return (msgpack_object){MSGPACK_OBJECT_STR, {.str = {(uint32_t)strlen(s), s}}};
}
static msgpack_object integer(int64_t n) {
  return (msgpack_object){MSGPACK_OBJECT_NEGATIVE_INTEGER, {.i64 = n}};
}
static msgpack_object list(msgpack_object *room, double x) { /* of one number, kept in the room */
  *room = (msgpack_object){MSGPACK_OBJECT_FLOAT64, {.f64 = x}};
  return (msgpack_object){MSGPACK_OBJECT_ARRAY, {.array = {1, room}}};
}
static void reply(void *socket, const Output *to, Reply r) { /* a real device measures angle, speed, torque */
  msgpack_object rooms[4];
  msgpack_object_kv told[] = {
      {text("v"), integer(1)}, {text("type"), text("device")}, {text("session"), text(to->session)},
      {text("seq"), integer(r.seq)}, {text("t"), integer(r.t)}, {text("command"), integer(to->seq)},
      {text("angle"), list(&rooms[0], to->angle)}, {text("speed"), list(&rooms[1], to->speed)},
      {text("torque"), list(&rooms[2], r.torque)}, {text("torque_max"), list(&rooms[3], r.limit)},
      {text("state"), text(r.state)}, {text("fault"), text(r.fault)}};
  msgpack_object all = {MSGPACK_OBJECT_MAP, {.map = {sizeof told / sizeof *told, told}}};
  msgpack_sbuffer buffer;
  msgpack_packer packer;
  msgpack_sbuffer_init(&buffer), msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
  msgpack_pack_object(&packer, all);
  if (zmq_send(socket, "device", 6, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
    zmq_send(socket, buffer.data, buffer.size, ZMQ_DONTWAIT);
  msgpack_sbuffer_destroy(&buffer);
}

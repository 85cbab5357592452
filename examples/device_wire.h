/* What any device of one joint in C needs of the wire: an output read, a device's message sent.
   docs/protocol.md tells the rest; needs libzmq and msgpack-c. */
#include <math.h>
#include <msgpack.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

enum { V, SEQ, SENT, VALID, ARMED, TORQUE, MOST, ANGLE, SPEED, ANSWER, N }; /* numbers of an output */
static const char *KEYS[] = {
    "v", "seq", "t_sent", "valid_for_ms", "armed", "torque", "torque_max", "angle", "speed", "answer"};
typedef struct { char session[17]; double is[N]; } Output;
typedef struct { double seq, torque; const char *state, *fault; } Reply;

static double now(void) { /* [ns], of the clock that stamps outputs on this machine, too */
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * t.tv_sec + t.tv_nsec;
}
static double number(msgpack_object o) { /* of a list the first; NaN where it is none */
  if (o.type == MSGPACK_OBJECT_ARRAY) return o.via.array.size ? number(o.via.array.ptr[0]) : NAN;
  if (o.type == MSGPACK_OBJECT_BOOLEAN) return o.via.boolean;
  if (o.type == MSGPACK_OBJECT_FLOAT64 || o.type == MSGPACK_OBJECT_FLOAT32) return o.via.f64;
  return o.type == MSGPACK_OBJECT_POSITIVE_INTEGER ? (double)o.via.u64 : NAN;
}
static int same(msgpack_object o, const char *s) {
  return o.type == MSGPACK_OBJECT_STR && o.via.str.size == strlen(s) && !memcmp(o.via.str.ptr, s, strlen(s));
}
static int receive(void *socket, Output *out) { /* 1: an output, 0: a message of no use, -1: nothing there */
  static char part[2][4096];
  Output m = {"", {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0.0}};
  int size, n = 0, more = 1;
  for (size_t room = sizeof more; more; n++) {
    if ((size = zmq_recv(socket, part[n > 0], sizeof *part, ZMQ_DONTWAIT)) < 0) return -1;
    if (n == 0 && (size != 6 || memcmp(part[0], "output", 6))) n = 2; /* then there are too many parts */
    zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &room);
  }
  msgpack_unpacked all;
  msgpack_unpacked_init(&all);
  int map = n == 2 && size <= (int)sizeof *part && msgpack_unpack_next(&all, part[1], size, NULL) > 0;
  for (uint32_t i = 0; map && all.data.type == MSGPACK_OBJECT_MAP && i < all.data.via.map.size; i++) {
    msgpack_object key = all.data.via.map.ptr[i].key, value = all.data.via.map.ptr[i].val;
    for (int k = 0; k < N; k++) m.is[k] = same(key, KEYS[k]) ? number(value) : m.is[k];
    if (same(key, "session") && value.type == MSGPACK_OBJECT_STR && value.via.str.size == 16)
      memcpy(m.session, value.via.str.ptr, 16);
  }
  msgpack_unpacked_destroy(&all);
  double sum = 0.0;
  for (int k = 0; k < N; k++) sum += m.is[k];
  return isfinite(sum) && m.is[V] == 1.0 && m.session[0] && m.is[SENT] <= now() ? (*out = m, 1) : 0;
}
static msgpack_object text(const char *s) {
  return (msgpack_object){MSGPACK_OBJECT_STR, {.str = {(uint32_t)strlen(s), s}}};
}
static msgpack_object whole(double n) {
  return (msgpack_object){MSGPACK_OBJECT_NEGATIVE_INTEGER, {.i64 = (int64_t)n}};
}
static msgpack_object list(msgpack_object *room, double x) { /* of one number, kept in the room */
  *room = (msgpack_object){MSGPACK_OBJECT_FLOAT64, {.f64 = x}};
  return (msgpack_object){MSGPACK_OBJECT_ARRAY, {.array = {1, room}}};
}
static void reply(void *socket, const Output *to, Reply r) { /* a real device measures angle, speed, torque */
  msgpack_object rooms[3];
  msgpack_object_kv told[] = {
      {text("v"), whole(1)}, {text("type"), text("device")}, {text("session"), text(to->session)},
      {text("seq"), whole(r.seq)}, {text("t"), whole(now())}, {text("command"), whole(to->is[SEQ])},
      {text("angle"), list(&rooms[0], to->is[ANGLE])}, {text("speed"), list(&rooms[1], to->is[SPEED])},
      {text("torque"), list(&rooms[2], r.torque)}, {text("state"), text(r.state)},
      {text("fault"), text(r.fault)}};
  msgpack_object all = {MSGPACK_OBJECT_MAP, {.map = {sizeof told / sizeof *told, told}}};
  msgpack_sbuffer buffer;
  msgpack_packer packer;
  msgpack_sbuffer_init(&buffer), msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
  msgpack_pack_object(&packer, all);
  if (zmq_send(socket, "device", 6, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
    zmq_send(socket, buffer.data, buffer.size, ZMQ_DONTWAIT);
  msgpack_sbuffer_destroy(&buffer);
}

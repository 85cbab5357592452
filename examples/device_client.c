/* A device for `rtsim hil` whose actuator does at once what it is told: ./device_client [ADDRESS]
   cc -O2 device_client.c -o device_client $(pkg-config --cflags --libs libzmq msgpack) -lm */
#include <math.h>
#include <msgpack.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#define TICK_NS 2000000LL  /* own clock */
#define RAMP_NS 50000000LL /* safe state: ramp to zero */
#define LIMIT 30.0         /* own limit [N m] */
typedef struct { char session[17]; int64_t seq, sent; double valid_ms, torque, most, angle, speed; int armed, answer; } Output;
enum { DISARMED, ARMED, FALLING, STOPPED };
static const char *STATES[] = {"disarmed", "armed", "falling", "stopped"};

static int64_t now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return 1000000000LL * t.tv_sec + t.tv_nsec; }
static double number(const msgpack_object *o) {
  if (o->type == MSGPACK_OBJECT_ARRAY) return o->via.array.size ? number(o->via.array.ptr) : NAN;
  if (o->type == MSGPACK_OBJECT_FLOAT64 || o->type == MSGPACK_OBJECT_FLOAT32) return o->via.f64;
  return o->type == MSGPACK_OBJECT_POSITIVE_INTEGER ? (double)o->via.u64 : NAN;
}
static int read_output(const char *data, size_t n, Output *out) { /* 1 where it is one */
  Output m = {"", -1, -1, NAN, NAN, NAN, NAN, NAN, -1, 0};
  int version = 0, output = 0;
  msgpack_unpacked whole;
  msgpack_unpacked_init(&whole);
  if (msgpack_unpack_next(&whole, data, n, NULL) == MSGPACK_UNPACK_SUCCESS && whole.data.type == MSGPACK_OBJECT_MAP)
    for (uint32_t i = 0; i < whole.data.via.map.size; i++) {
      const msgpack_object *key = &whole.data.via.map.ptr[i].key, *value = &whole.data.via.map.ptr[i].val;
#define IS(name) (key->type == MSGPACK_OBJECT_STR && key->via.str.size == strlen(name) && !memcmp(key->via.str.ptr, name, strlen(name)))
      if (IS("v")) version = number(value) == 1.0;
      else if (IS("type")) output = value->type == MSGPACK_OBJECT_STR && value->via.str.size == 6 && !memcmp(value->via.str.ptr, "output", 6);
      else if (IS("session")) { if (value->type == MSGPACK_OBJECT_STR && value->via.str.size == 16) memcpy(m.session, value->via.str.ptr, 16); }
      else if (IS("seq")) { if (value->type == MSGPACK_OBJECT_POSITIVE_INTEGER) m.seq = (int64_t)value->via.u64; }
      else if (IS("t_sent")) { if (value->type == MSGPACK_OBJECT_POSITIVE_INTEGER) m.sent = (int64_t)value->via.u64; }
      else if (IS("armed")) { if (value->type == MSGPACK_OBJECT_BOOLEAN) m.armed = value->via.boolean; }
      else if (IS("answer")) m.answer = value->type == MSGPACK_OBJECT_BOOLEAN && value->via.boolean;
      else if (IS("valid_for_ms")) m.valid_ms = number(value);
      else if (IS("torque")) m.torque = number(value);
      else if (IS("torque_max")) m.most = number(value);
      else if (IS("angle")) m.angle = number(value);
      else if (IS("speed")) m.speed = number(value);
    }
  msgpack_unpacked_destroy(&whole);
  if (!version || !output || !m.session[0] || m.seq < 0 || m.sent < 0 || m.armed < 0 || !isfinite(m.valid_ms + m.torque + m.most + m.angle + m.speed)) return 0;
  *out = m;
  return 1;
}
static void text(msgpack_packer *p, const char *s) { msgpack_pack_str(p, strlen(s)); msgpack_pack_str_body(p, s, strlen(s)); }
static void list(msgpack_packer *p, const char *key, double x) { text(p, key); msgpack_pack_array(p, 1); msgpack_pack_double(p, x); }
static void whole(msgpack_packer *p, const char *key, int64_t n) { text(p, key); msgpack_pack_int64(p, n); }
static void words(msgpack_packer *p, const char *key, const char *s) { text(p, key); text(p, s); }

int main(int n_argument, char **arguments) {
  void *socket = zmq_socket(zmq_ctx_new(), ZMQ_DEALER);
  int zero = 0, few = 16, one = 1, state = DISARMED, may_arm = 0;
  const char *fault = "";
  double torque = 0.0, fell_from = 0.0;
  int64_t due = now(), fell = 0, seq = 0;
  Output output = {"", -1, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0}, came;
  static char topic[64], payload[4096];
  zmq_setsockopt(socket, ZMQ_LINGER, &zero, sizeof zero);
  zmq_setsockopt(socket, ZMQ_SNDHWM, &few, sizeof few);
  zmq_setsockopt(socket, ZMQ_IMMEDIATE, &one, sizeof one);
  if (zmq_connect(socket, n_argument > 1 ? arguments[1] : "tcp://127.0.0.1:5563")) return 1;
  for (;;) {
    zmq_pollitem_t item = {socket, 0, ZMQ_POLLIN, 0};
    int64_t left = due - now();
    int heard = 0, taken = 0;
    zmq_poll(&item, 1, left > 0 ? left / 1000000 : 0);
    for (int k = 0; k < 64; k++) { /* the newest of all that have come */
      int n_topic = zmq_recv(socket, topic, sizeof topic, ZMQ_DONTWAIT), n = -1, more = 0;
      size_t size = sizeof more;
      if (n_topic < 0) break;
      for (int part = 1; zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size) == 0 && more; part++) {
        int n_part = zmq_recv(socket, payload, sizeof payload, 0);
        n = part == 1 ? n_part : -1;
      }
      if (n_topic == 6 && !memcmp(topic, "output", 6) && n > 0 && n <= (int)sizeof payload) heard |= read_output(payload, n, &came);
    }
    int new = heard && strcmp(came.session, output.session);
    int old = now() - output.sent > 1e6 * output.valid_ms; /* looked at before what came is taken */
    if (state == ARMED && (old || new)) state = FALLING, fault = old ? "too old" : "another session", fell = now(), fell_from = torque;
    if (heard && (new || came.seq > output.seq)) {
      taken = 1, may_arm = may_arm && !new, output = came;
      if (now() - output.sent <= 1e6 * output.valid_ms) {
        if (!output.armed) may_arm = 1, state = state == FALLING ? FALLING : DISARMED;
        else if (may_arm && state == DISARMED) state = ARMED, fault = "", may_arm = 0;
      }
    }
    if (now() < due && !(taken && output.answer)) continue;
    due = now() + TICK_NS, torque = 0.0;
    if (state == ARMED) torque = fmax(-fmin(LIMIT, output.most), fmin(fmin(LIMIT, output.most), output.torque));
    if (state == FALLING) {
      torque = fell_from * fmax(0.0, 1.0 - (double)(now() - fell) / RAMP_NS);
      if (torque == 0.0) state = STOPPED;
    }
    msgpack_sbuffer buffer; /* a real device measures angle, speed and torque */
    msgpack_packer p;
    msgpack_sbuffer_init(&buffer), msgpack_packer_init(&p, &buffer, msgpack_sbuffer_write), msgpack_pack_map(&p, 11);
    whole(&p, "v", 1), words(&p, "type", "device"), words(&p, "session", output.session), whole(&p, "seq", seq++), whole(&p, "t", now());
    whole(&p, "command", output.seq), list(&p, "angle", output.angle), list(&p, "speed", output.speed), list(&p, "torque", torque);
    words(&p, "state", STATES[state]), words(&p, "fault", fault);
    if (zmq_send(socket, "device", 6, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0) zmq_send(socket, buffer.data, buffer.size, ZMQ_DONTWAIT);
    msgpack_sbuffer_destroy(&buffer);
  }
}

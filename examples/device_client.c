/* A device for `rtsim hil` whose actuator does at once what it is told: ./device_client [ADDRESS]
   cc -O2 device_client.c -o device_client $(pkg-config --cflags --libs libzmq msgpack) -lm */
#include <math.h>
#include <msgpack.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

enum { V, SEQ, SENT, VALID, ARMED, TORQUE, MOST, ANGLE, SPEED, ANSWER, N };
static const char *KEYS[] = {
    "v", "seq", "t_sent", "valid_for_ms", "armed", "torque", "torque_max", "angle", "speed", "answer"};
static const double TICK = 2e6, RAMP = 50e6, LIMIT = 30.0; /* own clock, ramp to zero [ns], own limit [N m] */
typedef struct { char session[17]; double is[N]; } Output;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * t.tv_sec + t.tv_nsec;
}
static int same(const msgpack_object *o, const char *s) {
  size_t n = strlen(s);
  return o->type == MSGPACK_OBJECT_STR && o->via.str.size == n && !memcmp(o->via.str.ptr, s, n);
}
static double number(const msgpack_object *o) { /* of a list the first; NaN where it is none */
  if (o->type == MSGPACK_OBJECT_ARRAY) return o->via.array.size ? number(o->via.array.ptr) : NAN;
  if (o->type == MSGPACK_OBJECT_BOOLEAN) return o->via.boolean;
  if (o->type == MSGPACK_OBJECT_FLOAT64 || o->type == MSGPACK_OBJECT_FLOAT32) return o->via.f64;
  return o->type == MSGPACK_OBJECT_POSITIVE_INTEGER ? (double)o->via.u64 : NAN;
}
static int read_output(const char *data, size_t size, Output *out) { /* 1 where it is one */
  Output m = {"", {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0.0}};
  double sum = 0.0;
  msgpack_unpacked all;
  msgpack_unpacked_init(&all);
  int read = msgpack_unpack_next(&all, data, size, NULL) == MSGPACK_UNPACK_SUCCESS;
  for (uint32_t i = 0; read && all.data.type == MSGPACK_OBJECT_MAP && i < all.data.via.map.size; i++) {
    const msgpack_object *key = &all.data.via.map.ptr[i].key, *value = &all.data.via.map.ptr[i].val;
    for (int k = 0; k < N; k++) m.is[k] = same(key, KEYS[k]) ? number(value) : m.is[k];
    if (same(key, "session") && value->type == MSGPACK_OBJECT_STR && value->via.str.size == 16)
      memcpy(m.session, value->via.str.ptr, 16);
  }
  msgpack_unpacked_destroy(&all);
  for (int k = 0; k < N; k++) sum += m.is[k];
  int sound = isfinite(sum) && m.is[V] == 1.0 && m.session[0] && m.is[SENT] <= now();
  if (sound) *out = m;
  return sound;
}
static int newest(void *socket, Output *out) { /* of all that have come; 1 where one of them can be read */
  static char topic[64], payload[4096];
  for (int found = 0, k = 0;; k++) {
    int part = 0, n[2] = {0, 0}, more = 1, size;
    for (size_t room = sizeof more; more; part++) {
      size = zmq_recv(socket, part ? payload : topic, part ? sizeof payload : sizeof topic, ZMQ_DONTWAIT);
      if (size < 0 || k == 64) return found;
      if (part < 2) n[part] = size;
      zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &room);
    }
    if (part == 2 && n[0] == 6 && !memcmp(topic, "output", 6) && n[1] <= (int)sizeof payload)
      found |= read_output(payload, n[1], out);
  }
}
static void words(msgpack_packer *p, const char *key, const char *s) {
  msgpack_pack_str_with_body(p, key, strlen(key));
  if (s) msgpack_pack_str_with_body(p, s, strlen(s));
}
static void list(msgpack_packer *p, const char *key, double x) {
  words(p, key, NULL), msgpack_pack_array(p, 1), msgpack_pack_double(p, x);
}
static void whole(msgpack_packer *p, const char *key, double n) {
  words(p, key, NULL), msgpack_pack_int64(p, (int64_t)n);
}

int main(int n_argument, char **arguments) {
  void *socket = zmq_socket(zmq_ctx_new(), ZMQ_DEALER);
  int few = 16, one = 1, may_arm = 0;
  const char *state = "disarmed", *fault = "";
  double due = now(), seq = 0.0, torque = 0.0, fell = 0.0, fell_from = 0.0;
  Output output = {"", {0.0, -1.0}}, came;
  zmq_setsockopt(socket, ZMQ_SNDHWM, &few, sizeof few);
  zmq_setsockopt(socket, ZMQ_IMMEDIATE, &one, sizeof one);
  if (zmq_connect(socket, n_argument > 1 ? arguments[1] : "tcp://127.0.0.1:5563")) return 1;
  for (;;) {
    zmq_poll(&(zmq_pollitem_t){socket, 0, ZMQ_POLLIN, 0}, 1, fmax(0.0, 1e-6 * (due - now())));
    int heard = newest(socket, &came), new = heard && strcmp(came.session, output.session);
    int old = now() - output.is[SENT] > 1e6 * output.is[VALID]; /* looked at before what came is taken */
    if (!strcmp(state, "armed") && (old || new))
      state = "falling", fault = old ? "too old" : "another session", fell = now(), fell_from = torque;
    int taken = heard && (new || came.is[SEQ] > output.is[SEQ]);
    if (taken) {
      output = came, may_arm = may_arm && !new;
      int valid = now() - output.is[SENT] <= 1e6 * output.is[VALID];
      if (valid && !output.is[ARMED]) may_arm = 1, state = strcmp(state, "falling") ? "disarmed" : state;
      else if (valid && may_arm && !strcmp(state, "disarmed")) state = "armed", fault = "", may_arm = 0;
    }
    if (now() < due && !(taken && output.is[ANSWER])) continue;
    double most = fmin(LIMIT, output.is[MOST]);
    due = now() + TICK;
    torque = strcmp(state, "armed") ? 0.0 : fmax(-most, fmin(most, output.is[TORQUE]));
    if (!strcmp(state, "falling")) {
      torque = fell_from * fmax(0.0, 1.0 - (now() - fell) / RAMP);
      state = torque == 0.0 ? "stopped" : state;
    }
    msgpack_sbuffer buffer; /* a real device measures angle, speed and torque */
    msgpack_packer p;
    msgpack_sbuffer_init(&buffer), msgpack_packer_init(&p, &buffer, msgpack_sbuffer_write);
    msgpack_pack_map(&p, 11);
    whole(&p, "v", 1.0), words(&p, "type", "device"), words(&p, "session", output.session);
    whole(&p, "seq", seq++), whole(&p, "t", now()), whole(&p, "command", output.is[SEQ]);
    list(&p, "angle", output.is[ANGLE]), list(&p, "speed", output.is[SPEED]), list(&p, "torque", torque);
    words(&p, "state", state), words(&p, "fault", fault);
    if (zmq_send(socket, "device", 6, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
      zmq_send(socket, buffer.data, buffer.size, ZMQ_DONTWAIT);
    msgpack_sbuffer_destroy(&buffer);
  }
}

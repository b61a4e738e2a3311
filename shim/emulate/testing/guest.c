// A library of the tests: each function uses one thing that the emulator must do. Compiled without any header.
typedef unsigned long size_t;

int printf(const char* format, ...);
int snprintf(char* to, size_t size, const char* format, ...);
void* malloc(size_t size);
void* realloc(void* block, size_t size);
void free(void* block);
void qsort(void* base, size_t count, size_t width, int (*compare)(const void*, const void*));
char* getenv(const char* name);
size_t strlen(const char* text);
void abort(void);
long host_twice(long (*function)(long), long value);
long host_double_sum(long a, long b, long c, long d, long e, long f, long g, long h, int i, long j);
extern int optional_function(void) __attribute__((weak_import));
extern void function_that_nobody_has(void);
extern int variable_that_nobody_has;

static int started;
static char text[64];

__attribute__((constructor)) static void start(void) {
  started = 7;
}

int was_started(void) {
  return started;
}

// Ten arguments: the ninth and tenth are on the stack, four bytes and eight.
long sum(long a, long b, long c, long d, long e, long f, long g, long h, int i, long j) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

long sum_through_host(void) {
  return host_double_sum(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
}

double scale(double value, float factor) {
  return value * factor;
}

float half(float value) {
  return value / 2;
}

const char* format_all(void) {
  snprintf(text, sizeof(text), "%d|%5.2f|%-4s|%zu|%lld|%x|%c", -3, 2.5, "ab", (size_t)9, -1LL, 255, 'z');
  return text;
}

int print(int number) {
  return printf("number %d\n", number);
}

static int by_value(const void* a, const void* b) {
  return *(const int*)a - *(const int*)b;
}

int sorted(int index) {
  int numbers[] = {5, 3, 9, 1, 7};
  qsort(numbers, 5, sizeof(int), by_value);
  return numbers[index];
}

static long triple(long value) {
  return 3 * value;
}

long call_back(long value) {
  return host_twice(triple, value) + value;
}

static long endless_call(long value) {
  return host_twice(endless_call, value);
}

long nest_forever(void) {
  return endless_call(1);
}

const char* setting(const char* name) {
  return getenv(name);
}

long count(long n) {
  _Atomic long total = 0;
  for (long i = 0; i < n; ++i) __c11_atomic_fetch_add(&total, 1, __ATOMIC_SEQ_CST);
  return total;
}

int grow(void) {
  char* block = malloc(10);
  for (int i = 0; i < 9; ++i) block[i] = (char)('a' + i);
  block[9] = 0;
  block = realloc(block, 5000);
  const int size = (int)strlen(block);
  free(block);
  return size;
}

int has_optional(void) {
  return optional_function != 0;
}

void call_missing(void) {
  function_that_nobody_has();
}

int read_missing(void) {
  return variable_that_nobody_has;
}

void loop_forever(void) {
  for (;;) __asm__ volatile("");
}

int recurse_forever(int depth) {
  volatile int here[64];
  here[0] = depth;
  return recurse_forever(depth + 1) + here[0];
}

int read_null(int* nothing) {
  return *nothing;
}

void write_code(void) {
  *(volatile int*)(size_t)&write_code = 0;
}

void jump_nowhere(void) {
  ((void (*)(void))0x40)();
}

void trap(void) {
  __builtin_trap();
}

void double_free(void) {
  void* block = malloc(8);
  free(block);
  free(block);
}

void hoard(void) {
  for (;;) {
    char* block = malloc(1 << 20);
    block[0] = 1;
  }
}

void give_up(void) {
  abort();
}

// Blocks and libdispatch. Compiled without any header.
typedef void* dispatch_group_t;
typedef void* dispatch_queue_t;
typedef void* dispatch_semaphore_t;
dispatch_group_t dispatch_group_create(void);
dispatch_queue_t dispatch_get_global_queue(long identifier, unsigned long flags);
void dispatch_group_async(dispatch_group_t group, dispatch_queue_t queue, void (^block)(void));
long dispatch_group_wait(dispatch_group_t group, unsigned long timeout);
void dispatch_async(dispatch_queue_t queue, void (^block)(void));
void dispatch_apply(unsigned long count, dispatch_queue_t queue, void (^block)(unsigned long));
void dispatch_once(long* predicate, void (^block)(void));
dispatch_semaphore_t dispatch_semaphore_create(long value);
long dispatch_semaphore_signal(dispatch_semaphore_t semaphore);
long dispatch_semaphore_wait(dispatch_semaphore_t semaphore, unsigned long timeout);
int usleep(unsigned microseconds);
#define FOREVER (~0ul)

static volatile int stop;
static volatile int rounds;

// As a library that keeps something alive until it is told to stop.
int background_loop(void) {
  dispatch_group_t group = dispatch_group_create();
  dispatch_group_async(group, dispatch_get_global_queue(0, 0), ^{
    while (!stop) {
      ++rounds;
      usleep(100);
    }
    rounds += 1000;
  });
  const int before = rounds;
  stop = 1;
  dispatch_group_wait(group, FOREVER);
  return before * 10000 + rounds;
}

int applied(int count) {
  __block int sum = 0;
  dispatch_apply((unsigned long)count, dispatch_get_global_queue(0, 0), ^(unsigned long i) {
    sum += (int)i;
  });
  return sum;
}

int shared_variable(void) {
  __block int value = 1;
  const int captured = 40;
  dispatch_group_t group = dispatch_group_create();
  dispatch_group_async(group, dispatch_get_global_queue(0, 0), ^{
    value += captured;
  });
  value += 1;
  dispatch_group_wait(group, FOREVER);
  return value;
}

int once(void) {
  static long predicate;
  __block int runs = 0;
  for (int i = 0; i < 3; ++i) {
    dispatch_once(&predicate, ^{
      ++runs;
    });
  }
  return runs;
}

int signalled(void) {
  dispatch_semaphore_t semaphore = dispatch_semaphore_create(0);
  dispatch_async(dispatch_get_global_queue(0, 0), ^{
    dispatch_semaphore_signal(semaphore);
  });
  return (int)dispatch_semaphore_wait(semaphore, FOREVER) + (int)dispatch_semaphore_wait(semaphore, 1000);
}

int deadlock(void) {
  return (int)dispatch_semaphore_wait(dispatch_semaphore_create(0), FOREVER);
}

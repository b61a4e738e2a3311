// A library with one of everything that a loader must do: rebases, binds with an addend, weak imports, a coalesced
// definition, an interposing pair, a thread-local variable and an initialiser.
extern void* malloc(unsigned long);
extern void free(void*);
extern char* getenv(const char*);
extern int added_later(void) __attribute__((weak_import));

static int values[4] = {1, 2, 3, 4};
int* const third_value = &values[2];              // rebase
void (*release)(void*) = free;                    // bind
char* inside_malloc = (char*)(void*)malloc + 8;   // bind with an addend
int (*maybe)(void) = added_later;                 // weak import
__attribute__((weak)) int shared_definition = 7;  // coalesced
int* shared_address = &shared_definition;
static volatile int started;

static char* our_getenv(const char* name) {
  return getenv(name);
}

__attribute__((used, section("__DATA,__interpose"))) static struct {
  char* (*ours)(const char*);
  char* (*theirs)(const char*);
} interposed = {our_getenv, getenv};

__attribute__((constructor)) static void start(void) {
  started = 1;
}

int answer(int n) {
  return values[n & 3] + started + shared_definition;
}

__attribute__((visibility("hidden"))) int hidden(void) {
  return *third_value;
}

__thread int per_thread;

// Takes getenv() over in every library but itself, as a shim takes over Metal's functions.
char* getenv(const char* name);

static char* other_getenv(const char* name) {
  static char text[64];
  const char* value = getenv(name);
  unsigned i = 0;
  text[i++] = '<';
  while (value && *value && i < sizeof(text) - 2) text[i++] = *value++;
  text[i++] = '>';
  text[i] = 0;
  return text;
}

__attribute__((used, section("__DATA,__interpose"))) static struct {
  const void* replacement;
  const void* replacee;
} interposed = {(const void*)other_getenv, (const void*)getenv};

// The original, since an interposing library is spared.
char* original_setting(const char* name) {
  return getenv(name);
}

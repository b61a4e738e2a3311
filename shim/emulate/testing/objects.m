// Objective-C as compilers write it, without any header.
typedef signed char BOOL_;
typedef unsigned long NSUInteger;

__attribute__((objc_root_class))
@interface NSObject
+ (id)new;
@end
@interface NSString : NSObject
+ (id)stringWithUTF8String:(const char*)text;
+ (id)stringWithFormat:(NSString*)format, ...;
- (const char*)UTF8String;
- (NSUInteger)length;
- (NSUInteger)unheardOf;
@end
@interface NSMutableArray : NSObject
- (void)addObject:(id)object;
- (id)objectAtIndexedSubscript:(NSUInteger)index;
- (NSUInteger)count;
- (NSUInteger)countByEnumeratingWithState:(void*)state objects:(id*)objects count:(NSUInteger)count;
@end
@interface NSMutableDictionary : NSObject
- (void)setObject:(id)object forKeyedSubscript:(id)key;
- (id)objectForKeyedSubscript:(id)key;
@end
@interface NSNumber : NSObject
+ (id)numberWithInt:(int)value;
- (int)intValue;
@end

typedef struct {
  unsigned long state;
  id* items;
  unsigned long* mutations;
  unsigned long extra[5];
} NSFastEnumerationState;

const char* formatted(int number) {
  return [[NSString stringWithFormat:@"%@ is %d", @"answer", number] UTF8String];
}

long length_of(const char* text) {
  return (long)[[NSString stringWithUTF8String:text] length];
}

int summed(int count) {
  NSMutableArray* numbers = [NSMutableArray new];
  for (int i = 1; i <= count; ++i) [numbers addObject:[NSNumber numberWithInt:i]];
  int sum = 0;
  for (NSNumber* number in numbers) sum += [number intValue];
  return sum;
}

int looked_up(void) {
  NSMutableDictionary* map = [NSMutableDictionary new];
  map[@"one"] = [NSNumber numberWithInt:1];
  map[[NSString stringWithUTF8String:"two"]] = [NSNumber numberWithInt:2];
  return [map[@"two"] intValue] + [map[@"three"] intValue];
}

long message_to_nothing(void) {
  return (long)[(NSString*)0 length];
}

long unheard_of(void) {
  return (long)[@"text" unheardOf];
}

id beyond_the_end(void) {
  return [[NSMutableArray new] objectAtIndexedSubscript:3];
}

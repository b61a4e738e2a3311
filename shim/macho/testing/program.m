// A program that asks a Metal device about itself, and defines a method whose name must not count as a question.
typedef signed char Flag;

@interface NSObject
@end

@protocol Device
- (Flag)supportsFamily:(long)family;
- (unsigned long)maxThreadgroupMemoryLength;
- (unsigned long)maxBufferLength;
- (Flag)hasUnifiedMemory;
- (void)somethingElse;
@end

@interface Double : NSObject
- (unsigned long)recommendedMaxWorkingSetSize;
@end

@implementation Double
- (unsigned long)recommendedMaxWorkingSetSize {
  return 0;
}
@end

int main(int count, char** arguments) {
  id<Device> device = (id<Device>)(void*)arguments;
  [device somethingElse];
  return (int)([device supportsFamily:1007 + count] + (long)[device maxThreadgroupMemoryLength] +
               (long)[device maxBufferLength] + [device hasUnifiedMemory]);
}

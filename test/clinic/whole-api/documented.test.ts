import { describe } from 'vitest';
import { describeReading } from './reading.ts';
import { describeTrouble } from './trouble.ts';
import { useWorld } from './world.ts';
import { describeWriting } from './writing.ts';

describe('the documented dialect', () => {
  const world = useWorld('documented');
  describeReading(world);
  describeWriting(world);
  describeTrouble(world);
});

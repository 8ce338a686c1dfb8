import { describe } from 'vitest';
import { describeReading } from './reading.ts';
import { describeFailure } from './trouble.ts';
import { useWorld } from './world.ts';
import { describeWriting } from './writing.ts';

describe('the documented dialect', () => {
  const world = useWorld('documented');
  describeReading(world);
  describeWriting(world);
  describeFailure(world);
});

import { describe } from 'vitest';
import { describeReading } from './reading.ts';
import { describeFailure } from './trouble.ts';
import { useWorld } from './world.ts';
import { describeWriting } from './writing.ts';

describe('the numbers dialect', () => {
  const world = useWorld('numbers');
  describeReading(world);
  describeWriting(world);
  describeFailure(world);
});

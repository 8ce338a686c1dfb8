import { z } from 'zod';
import { done, standIn } from '../stand-in.ts';

/** A target that takes everything at once, without a request. */
export const nullConnector = standIn(
  'null',
  1_000,
  z.strictObject({}),
  () => async (_, operations) => done(operations),
);

import { defineErrors, NO_WORDS } from '../errors.ts';

/** A feed has none of its own: it lies in our Redis, whose failures are told as such, and nobody else answers. */
export const errors = defineErrors('feed', NO_WORDS, {});

import { defineErrors, NO_WORDS } from '../errors.ts';

/** A feed has no errors: it is stored in clinic-mirror's Redis, which has separate errors, and no vendor responds. */
export const errors = defineErrors('feed', NO_WORDS, {});

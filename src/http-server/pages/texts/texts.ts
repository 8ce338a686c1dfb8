import type { Language } from '../../languages.ts';

/** The words of a page in every language: the same keys in each, which the compiler and a test compare. */
export type Texts<Words> = Readonly<Record<Language, Words>>;

import type { Language } from '../../messages/message.ts';

/** The words of a view in every language: the same keys in each, which the compiler and a test compare. */
export type Texts<Words> = Readonly<Record<Language, Words>>;

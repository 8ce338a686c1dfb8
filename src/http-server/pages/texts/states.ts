import type { Texts } from '../../../documents/texts/texts.ts';
import { AXES_WORDS } from '../../../model/standing.ts';

const en = {
  ...AXES_WORDS.en,
  asOf: (time: string) => `as of ${time}`,
  since: (time: string) => `since ${time}`,
  waiting: (count: number) => `${count} wait${count === 1 ? 's' : ''}`,
};

/** The two axes of a state, in words: whether a target is in step with the clinic, and whether work on it can go on. */
export const STATES: Texts<typeof en> = {
  en,
  it: {
    ...AXES_WORDS.it,
    asOf: (time) => `alle ${time}`,
    since: (time) => `da ${time}`,
    waiting: (count) => `${count} in attesa`,
  },
};

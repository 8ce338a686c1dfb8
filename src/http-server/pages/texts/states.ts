import type { Texts } from './texts.ts';

const en = {
  'in-sync': 'in sync',
  behind: 'behind',
  held: 'held',
  unknown: 'unknown',
  yes: 'runs',
  'waits-for-vendor': 'waits by itself',
  'waits-for-person': 'waits for you',
  asOf: (time: string) => `as of ${time}`,
  since: (time: string) => `since ${time}`,
  waiting: (count: number) => `${count} wait${count === 1 ? 's' : ''}`,
};

/** The two axes of a state, in words: whether a target is in step with the clinic, and whether work on it can go on. */
export const STATES: Texts<typeof en> = {
  en,
  it: {
    'in-sync': 'sincronizzato',
    behind: 'in ritardo',
    held: 'sospeso',
    unknown: 'non noto',
    yes: 'procede',
    'waits-for-vendor': 'attende da sé',
    'waits-for-person': 'attende una persona',
    asOf: (time) => `alle ${time}`,
    since: (time) => `da ${time}`,
    waiting: (count) => `${count} in attesa`,
  },
};

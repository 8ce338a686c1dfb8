import type { Language } from '../messages/message.ts';
import { DECISIONS } from './texts/explain.ts';

const REASONS: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: {
    new: 'new',
    'content-changed': 'changed',
    cancelled: 'cancelled',
    excluded: 'no longer belongs here',
    vanished: 'gone from the clinic',
    'edited-by-hand': 'edited by hand',
    'removed-by-hand': 'deleted by hand',
    forgotten: 'forgotten',
  },
  it: {
    new: 'nuovi',
    'content-changed': 'modificati',
    cancelled: 'annullati',
    excluded: 'non appartengono più qui',
    vanished: 'scomparsi dalla clinica',
    'edited-by-hand': 'modificati a mano',
    'removed-by-hand': 'cancellati a mano',
    forgotten: 'dimenticati',
  },
};

/** Why something was changed, in words; a code that has none is shown as it is. */
export function reasonWord(reason: string, language: Language): string {
  return REASONS[language][reason] ?? reason;
}

/** A rule that leaves appointments out, in words; a code that has none is shown as it is. */
export function ruleName(rule: string, language: Language): string {
  const names: Readonly<Record<string, string>> = DECISIONS[language];
  return names[rule] ?? rule;
}

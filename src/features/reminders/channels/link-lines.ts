import type { ReminderContent } from './channel.ts';

const LABELS = {
  it: { confirm: 'Conferma', both: 'Conferma o disdici' },
  en: { confirm: 'Confirm', both: 'Confirm or cancel' },
} as const;

/** The word for a reminder's link, in its language; null when it has none. */
export function linkLabel({ language, link }: ReminderContent): string | null {
  return link === null ? null : LABELS[language][link.cancels ? 'both' : 'confirm'];
}

/** The text with its link below, as plain text. */
export function textWithLink(content: ReminderContent): string {
  const { text, link } = content;
  return link === null ? text : `${text}\n${linkLabel(content)}: ${link.url}`;
}

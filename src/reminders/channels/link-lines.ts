import type { ReminderContent } from './channel.ts';

const LABELS = {
  it: { confirm: 'Conferma', cancel: 'Disdici' },
  en: { confirm: 'Confirm', cancel: 'Cancel' },
} as const;

/** The links of a reminder with a word for each, in its language; empty when there are none. */
export function linkLines({ language, links }: ReminderContent): { label: string; url: string }[] {
  if (links === null) return [];
  const { confirm, cancel } = LABELS[language];
  return [
    { label: confirm, url: links.confirm },
    { label: cancel, url: links.cancel },
  ];
}

/** The text with its links below, as plain text. */
export function textWithLinks(content: ReminderContent): string {
  return [content.text, ...linkLines(content).map(({ label, url }) => `${label}: ${url}`)].join('\n');
}

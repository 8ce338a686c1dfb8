import type { Language } from '../messages/message.ts';

/**
 * The first of a browser's languages that there are pages in.
 * @param accepted as the browser says it (Accept-Language, RFC 9110 section 12.5.4)
 */
export function languageOf(accepted: string, fallback: Language): Language {
  const supported = accepted
    .toLowerCase()
    .split(',')
    .map((tag) => tag.trim().slice(0, 2))
    .find((tag): tag is Language => tag === 'it' || tag === 'en');
  return supported ?? fallback;
}

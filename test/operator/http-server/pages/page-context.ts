import { type PageContext, timesIn } from '../../../../src/operator/http-server/pages/context.ts';
import { NOW } from '../../../domain/arbitraries.ts';
import { OWNER } from './open-pages.ts';

/** What a page is made with: for an owner, in English, by the clock of Rome. */
export function pageContext(choice: Partial<PageContext> = {}): PageContext {
  const times = timesIn('Europe/Rome', choice.language ?? 'en', NOW);
  return {
    ...{
      language: 'en',
      theme: null,
      visitor: OWNER,
      times,
      address: '/',
      tenant: null,
      targetName: (_, target) => target,
      operationPages: [],
    },
    ...choice,
  };
}

/** What a reader sees of HTML: its words, each space once. */
export function wordsOf(page: { toString(): string }): string {
  return String(page)
    .replaceAll(/<(style|script|title)[^>]*>.*?<\/\1>/gs, '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

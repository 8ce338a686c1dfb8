import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../src/core/log/logger.ts';
import type { AnswerPage, AnswerWord } from '../../../src/features/reminders/answers.ts';
import { addAnswers } from '../../../src/operator/http-server/answers.ts';
import { openApp } from '../../../src/operator/http-server/app.ts';
import { NOW } from '../../domain/arbitraries.ts';

const ABOUT = {
  clinic: 'Studio <Rossi>',
  phone: '06 1234',
  startAt: NOW,
  zone: 'Europe/Rome',
  language: 'it',
} as const;
const FORM: AnswerPage['form'] = { answers: ['confirmed', 'cancelled'], proof: '"proof"' };

async function pageOf(page: Partial<AnswerPage>, accepted = 'en') {
  const app = await openApp({ log: silentLogger });
  onTestFinished(() => app.close());
  const shown = async () => ({ says: 'ask', about: ABOUT, form: null, ...page }) as const;
  addAnswers(app, { showAnswer: shown, takeAnswer: shown }, silentLogger);
  const { statusCode, headers, body } = await app.inject({ url: '/r/token', headers: { 'accept-language': accepted } });
  return { status: statusCode, retryAfter: headers['retry-after'], body };
}

describe('the page behind a link of a reminder', () => {
  test('writes the clinic and the proof as text', async () => {
    const { body } = await pageOf({ form: FORM });
    expect(body).toContain('Studio &lt;Rossi&gt;');
    expect(body).toContain('name="proof" value="&quot;proof&quot;"');
  });

  test('is in the language of the browser, and else in the one of the clinic', async () => {
    expect((await pageOf({}, 'en')).body).toMatch(/<html lang="en">.*Monday 15 June, 10:00/s);
    expect((await pageOf({}, 'de')).body).toMatch(/<html lang="it">.*lunedì 15 giugno, ore 10:00/s);
    expect((await pageOf({ about: null }, 'de')).body).toContain('<html lang="en">');
  });

  test('has the buttons that are offered, and none where nothing can be answered', async () => {
    const buttons = async (form: AnswerPage['form']) =>
      (await pageOf({ form })).body.match(/value="(confirmed|cancelled)"/g);
    expect(await buttons(FORM)).toHaveLength(2);
    expect(await buttons({ answers: ['confirmed'], proof: 'x' })).toEqual(['value="confirmed"']);
    expect(await buttons(null)).toBeNull();
  });

  test('of an appointment with another time shows no time: the one of the link no longer holds', async () => {
    expect((await pageOf({ says: 'moved' })).body).not.toContain('10:00');
  });

  test('shows a known telephone number once, and leaves no gap without one', async () => {
    const called = async (choice: Partial<AnswerPage>) => (await pageOf(choice)).body.split('06 1234').length - 1;
    expect(await called({ says: 'cancelled' })).toBe(1);
    expect(await called({ says: 'ask', form: FORM })).toBe(1);
    expect(await called({ says: 'ask' })).toBe(0);
    const { body } = await pageOf({ says: 'cancelled', about: { ...ABOUT, phone: null } });
    expect(body).toContain('<p>Your appointment is cancelled.</p>');
  });

  test('writes a number unchanged, although it looks like a pattern of a replacement', async () => {
    const { body } = await pageOf({ says: 'cancelled', about: { ...ABOUT, phone: "$'$&" } });
    expect(body).toContain('To reach the clinic: $&#39;$&amp;.');
  });

  test.each<[AnswerWord, number, string | undefined]>([
    ['ask', 200, undefined],
    ['was-cancelled', 200, undefined],
    ['ask-again', 400, undefined],
    ['unknown', 404, undefined],
    ['too-late', 409, undefined],
    ['expired', 410, undefined],
    ['limited', 429, '120'],
    ['away', 503, '120'],
    ['refused', 503, undefined],
  ])(
    'that says "%s" has the status %i, and the time of the next try where one helps',
    async (says, status, retryAfter) => {
      expect(await pageOf({ says })).toMatchObject({ status, retryAfter });
    },
  );
});

import { expect, test } from 'vitest';
import type { Problem } from '../../../../src/core/model/problems.ts';
import { MINUTE_MS } from '../../../../src/core/model/time.ts';
import { message } from '../../../../src/messages/message.ts';
import type { ClinicSummary, Overview } from '../../../../src/operator/control/tenant-list.ts';
import { framed } from '../../../../src/operator/http-server/pages/layout.ts';
import { overviewFor, overviewPage } from '../../../../src/operator/http-server/pages/overview.ts';
import { NOW } from '../../../domain/arbitraries.ts';
import { OWNER } from './open-pages.ts';
import { pageContext, wordsOf } from './page-context.ts';

/** All clinics were checked. */
const KNOWN = { at: NOW, unread: [], ended: [] };
const NO_SEARCH: Parameters<typeof overviewPage>[2] = { text: null, from: 0 };

function clinicOf(tenant: string, changes: Partial<ClinicSummary> = {}): ClinicSummary {
  return {
    ...{ tenant, name: `Studio ${tenant}`, paused: false, sync: 'in-sync', health: 'ok' },
    ...{ inSyncAsOf: NOW - MINUTE_MS, firstSync: null, targets: 3, pending: 0, failing: 0, held: 0 },
    hourly: Array.from({ length: 24 }, (_, hour) => hour),
    ...changes,
  };
}

function problemOf(tenant: string | null, changes: Partial<Problem> = {}): Problem {
  const { subject = 'target room' } = changes;
  const [kind, ...id] = subject.split(' ');
  const codes = { connection: 'subject.login', appointment: 'subject.appointment', target: 'subject.target' } as const;
  const code = Object.entries(codes).find(([name]) => name === kind)?.[1];
  return {
    ...{ tenant, subject, code: 'calendar-gone', health: 'action-required', sinceAt: NOW - 90 * MINUTE_MS },
    texts: {
      subject: code === undefined ? subject : message(code, { id: id.join(' ') }),
      sentence: 'the calendar is gone',
      next: `clinic-mirror sync ${tenant}`,
    },
    ...{
      sentence: 'the calendar is gone',
      next: `clinic-mirror sync ${tenant}`,
      waiting: 14,
      breaksAt: null,
      nextTryAt: null,
      syncHealth: null,
    },
    ...changes,
  };
}

function shown(overview: Overview, { context = pageContext(), search = NO_SEARCH } = {}): string {
  return framed(context, overviewPage(context, overview, search, null)).toString();
}

test('required actions come first, with start, number and next step; automatic retries follow', () => {
  const passing = problemOf('corallo', {
    health: 'retrying',
    code: 'rate-limited',
    sentence: 'it asks us to wait',
    next: null,
    texts: { subject: message('subject.target', { id: 'room' }), sentence: 'it asks us to wait', next: null },
  });
  const page = shown({
    ...KNOWN,
    clinics: ['aurora', 'corallo', 'edera'].map((tenant) => clinicOf(tenant)),
    problems: [problemOf('aurora'), passing],
  });
  const told = wordsOf(page);
  expect(told).toContain('3 clinics · 1 action required · 1 retrying · 1 OK');
  expect(told).toContain('the calendar is gone calendar-gone 1 hr ago · 08:30 14 clinic-mirror sync aurora');
  expect(page.indexOf('the calendar is gone')).toBeLessThan(page.indexOf('Retrying'));
  expect(page.indexOf('Retrying')).toBeLessThan(page.indexOf('it asks us to wait'));
  expect(told).toContain('1 clinic, oldest: in sync as of 09:59');
});

test.each([
  [
    'a login',
    problemOf('aurora', { subject: 'connection doctor-2', code: 'login-ended' }),
    '/tenants/aurora/connections/doctor-2',
  ],
  ['a hold', problemOf('aurora', { code: 'on-hold' }), '/tenants/aurora/holds'],
  [
    'held corrections',
    problemOf('aurora', { subject: 'reminders', code: 'corrections-held' }),
    '/tenants/aurora/holds',
  ],
  [
    'a misinformed patient',
    problemOf('aurora', { subject: 'appointment apt 7', code: 'patient-misinformed' }),
    '/tenants/aurora/explain?id=apt%207',
  ],
  ['refused changes', problemOf('aurora', { code: 'writes-failed' }), '/tenants/aurora/targets/room'],
])('the one button of %s links to its remedy', (_, problem, address) => {
  const page = shown({ ...KNOWN, clinics: [clinicOf('aurora')], problems: [problem] });
  expect(page.match(/<a class="button main"[^>]*>/g)).toEqual([`<a class="button main" href="${address}">`]);
});

test('who may only look is offered no button to log in with', () => {
  const context = { ...pageContext(), visitor: { ...OWNER, level: 'viewer' as const } };
  const problem = problemOf('aurora', { subject: 'connection doctor-2', code: 'login-ended' });
  expect(shown({ ...KNOWN, clinics: [clinicOf('aurora')], problems: [problem] }, { context })).not.toContain(
    'button main',
  );
});

test('a state is shown in words, independent of colours', () => {
  const clinics = [
    clinicOf('a', { sync: 'on-hold', health: 'action-required' }),
    clinicOf('b', { sync: 'behind', health: 'retrying' }),
    clinicOf('c', { sync: 'unknown', inSyncAsOf: null }),
  ];
  const told = wordsOf(shown({ ...KNOWN, clinics, problems: [] }));
  for (const word of ['on hold as of 09:59', 'action required', 'behind as of 09:59', 'retrying', 'unknown ok']) {
    expect(told).toContain(word);
  }
});

test('clinics are found by their name and their id', () => {
  const clinics = Array.from({ length: 50 }, (_, index) => clinicOf(`t${index}`, { name: `Clinica numero ${index}` }));
  const told = (text: string) => wordsOf(shown({ ...KNOWN, clinics, problems: [] }, { search: { text, from: 0 } }));
  expect(told('NUMERO 49')).toContain('1 of 50');
  expect(told('t49')).toContain('1 of 50');
  expect(told('nothing')).toContain('No clinic matches');
});

test('a user of selected clinics sees only those, and not the whole installation', () => {
  const whole = {
    ...KNOWN,
    clinics: [clinicOf('a'), clinicOf('b')],
    problems: [problemOf('a'), problemOf('b'), problemOf(null)],
  };
  const seen = overviewFor(whole, { ...OWNER, tenants: new Set(['b']) });
  expect(seen.clinics.map(({ tenant }) => tenant)).toEqual(['b']);
  expect(seen.problems.map(({ tenant }) => tenant)).toEqual(['b']);
});

test('with a thousand clinics that all require action the page stays below 60 kB', () => {
  const ids = Array.from({ length: 1_000 }, (_, index) => `poliambulatorio-${index}`);
  const clinics = ids.map((id) => clinicOf(id));
  const page = shown({
    ...KNOWN,
    clinics,
    problems: ids.map((id) => problemOf(id, { subject: 'connection doctor-1' })),
  });
  expect(Buffer.byteLength(page)).toBeLessThan(60_000);
  expect(wordsOf(page)).toContain('960 more clinic-mirror status --problems');
});

test('what a clinic and a problem are called is text, whatever it says', () => {
  const evil = '"><img src=x onerror=alert(1)><script>alert(2)</script>';
  const problem = problemOf('a', {
    subject: `target ${evil}`,
    code: evil,
    sentence: evil,
    next: `clinic-mirror ${evil}`,
  });
  const page = shown({ ...KNOWN, clinics: [clinicOf('a', { name: evil })], problems: [problem] });
  expect(page).not.toContain('<img');
  expect(page).not.toContain('<script>');
  expect(wordsOf(page)).toContain('&lt;script&gt;');
});

test('the page exists in Italian too, in the time of the clinic', () => {
  const page = shown(
    { ...KNOWN, clinics: [clinicOf('a')], problems: [] },
    { context: pageContext({ language: 'it' }) },
  );
  expect(page).toContain('<html lang="it"');
  expect(wordsOf(page)).toContain('1 clinica · 1 OK');
  expect(wordsOf(page)).toContain('Orari in Europe/Rome · alle 10:00');
});

test('a problem that ended in the last hour shows its end and duration, to those who may see its clinic', () => {
  const ended = ['aurora', 'corallo'].map((tenant) => ({
    ...problemOf(tenant),
    ...{ sinceAt: NOW - 90 * MINUTE_MS, endedAt: NOW - 40 * MINUTE_MS },
  }));
  const overview = { ...KNOWN, clinics: [clinicOf('aurora'), clinicOf('corallo')], problems: [], ended };
  const words = wordsOf(shown(overview));
  expect(words).toContain('Resolved in the last hour');
  expect(words).toContain('calendar-gone over since 09:20 , lasted 50 min');
  expect(wordsOf(shown(overview, { context: pageContext({ language: 'it' }) }))).toContain('durata: 50 min');
  const visitor = { ...OWNER, tenants: new Set(['corallo']) };
  expect(overviewFor(overview, visitor).ended.map(({ tenant }) => tenant)).toEqual(['corallo']);
  expect(wordsOf(shown({ ...overview, ended: [] }))).not.toContain('Resolved');
});

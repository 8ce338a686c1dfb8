import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { TrueAppointment, TruePatient } from '../../../sandbox/clinic/index.ts';
import { importsOf, tokensOf } from '../../support/source-scanner.ts';
import type { RemoteObject } from './compare.ts';
import { type ContactLoss, PatientHistory, watchContacts } from './contacts.ts';
import { Denials } from './denials.ts';
import { History } from './history.ts';
import { watchRemovals } from './removals.ts';
import { tallyOf } from './tally.ts';
import {
  type Claim,
  type JudgedCalendar,
  judgeCalendar,
  judgeClaim,
  judgeContactLosses,
  judgeLeaks,
  judgeLogins,
  judgeReminders,
} from './verdict.ts';

const DAY_MS = 86_400_000;
const NOW = Date.parse('2026-03-20T10:00:00Z');
const RULES = { agendaIds: ['one'], window: { pastDays: 10, futureDays: 80 } };

/** A clinic whose data is two lists. */
function useBooks() {
  const appointments: TrueAppointment[] = [];
  const patients: Pick<TruePatient, 'id' | 'firstName' | 'lastName'>[] = [];
  const history = new History(
    { appointments: () => appointments, patients: () => patients as TruePatient[] },
    'clinic',
  );
  const book = (number: number, at = NOW - DAY_MS) => {
    const start = NOW + number * DAY_MS;
    patients.push({ id: `pat${number}`, firstName: 'Ada', lastName: `Qzxa000${number}` });
    const times = { start, end: start + 1_800_000, allDay: false };
    appointments.push({
      ...{ id: `apt${number}`, agendaId: 'one', patientId: `pat${number}`, status: 'Booked', deleted: false },
      ...times,
    });
    history.note(at);
  };
  const change = (number: number, changes: Partial<TrueAppointment>, at: number) => {
    const index = appointments.findIndex(({ id }) => id === `apt${number}`);
    appointments[index] = { ...(appointments[index] as TrueAppointment), ...changes };
    history.note(at);
  };
  const rename = (number: number, lastName: string, at: number) => {
    const patient = patients.find(({ id }) => id === `pat${number}`);
    Object.assign(patient ?? {}, { lastName });
    history.note(at);
  };
  return { history, book, change, rename };
}

function objectOf(number: number, changes: Partial<RemoteObject> = {}): RemoteObject {
  const startAt = NOW + number * DAY_MS;
  const times = { startAt, endAt: startAt + 1_800_000 };
  return { id: `object-${number}`, container: 'calendar', title: `Ada Qzxa000${number}`, ...times, ...changes };
}

function judged(history: History, changes: Partial<JudgedCalendar>) {
  const nobody = { strangers: new Set<string>(), touched: new Set<string>() };
  return tallyOf(
    judgeCalendar({
      ...nobody,
      name: 'calendar',
      history,
      rules: RULES,
      remote: [],
      removals: [],
      denials: [],
      at: NOW,
      ...changes,
    }),
  );
}

function claimed(history: History, changes: Partial<Claim>) {
  const nobody = { strangers: new Set<string>(), touched: new Set<string>() };
  const claim = { name: 'calendar', history, rules: RULES, remote: [], asOf: NOW, readAt: NOW + 500 };
  return tallyOf(judgeClaim({ ...nobody, ...claim, ...changes }));
}

const NONE = tallyOf([]);

describe('a calendar without pending work', () => {
  test('is exact with one unchanged object for each appointment', () => {
    const { history, book } = useBooks();
    book(1);
    book(2);
    expect(judged(history, { remote: [objectOf(1), objectOf(2)] })).toEqual(NONE);
  });

  test.for([
    ['missing', [objectOf(1)]],
    ['duplicates', [objectOf(1), objectOf(2), objectOf(2, { id: 'again' })]],
    ['duplicates', [objectOf(1), objectOf(2), objectOf(3)]],
    ['wrong', [objectOf(1), objectOf(2, { title: 'Bea Qzxa0002' })]],
    ['wrong', [objectOf(1), objectOf(2, { startAt: NOW })]],
  ] as const)('has one defect: %s', ([kind, remote]) => {
    const { history, book } = useBooks();
    book(1);
    book(2);
    expect(judged(history, { remote })).toEqual({ ...NONE, [kind]: 1 });
  });

  test('holds no appointment that is cancelled, deleted, in another agenda or outside the window', () => {
    const { history, book, change } = useBooks();
    for (const number of [1, 2, 3, 4, 5]) book(number);
    change(5, { waits: true }, NOW - 5_000);
    change(1, { status: 'Cancelled' }, NOW - 5_000);
    change(2, { deleted: true }, NOW - 5_000);
    change(3, { agendaId: 'two' }, NOW - 5_000);
    change(4, { start: NOW + 100 * DAY_MS, end: NOW + 101 * DAY_MS }, NOW - 5_000);
    expect(judged(history, {})).toEqual(NONE);
    expect(judged(history, { remote: [1, 2, 3, 4, 5].map((number) => objectOf(number)) }).duplicates).toBe(5);
  });

  test('shows an appointment that got a start again', () => {
    const { history, book, change } = useBooks();
    book(1);
    change(1, { waits: true }, NOW - 5_000);
    change(1, { waits: undefined as never }, NOW - 4_000);
    expect(judged(history, {}).missing).toBe(1);
    expect(judged(history, { remote: [objectOf(1)] })).toEqual(NONE);
  });

  test('shows appointments of patients merged into one under one surname', () => {
    const { history, book, change, rename } = useBooks();
    for (const number of [1, 2, 3]) book(number);
    rename(1, 'Qzxa0002', NOW - 5_000);
    const merged = objectOf(1, { title: 'Ada Qzxa0002' });
    const others = [objectOf(2), objectOf(3)];
    expect(judged(history, { remote: [merged, ...others] })).toEqual(NONE);
    expect(judged(history, { remote: others })).toEqual({ ...NONE, missing: 1 });
    expect(judged(history, { remote: [objectOf(1), ...others] })).toEqual({ ...NONE, missing: 1, duplicates: 1 });
    change(1, { status: 'Cancelled' }, NOW - 4_000);
    expect(judged(history, { remote: others })).toEqual(NONE);
    expect(judged(history, { remote: [merged, ...others] })).toEqual({ ...NONE, duplicates: 1 });
  });

  test('shows appointments that overlap the window; at its exact ends either result is right', () => {
    const { history, book, change } = useBooks();
    book(1);
    const block = { start: NOW - 20 * DAY_MS, end: NOW + 10 * DAY_MS };
    change(1, block, NOW - 5_000);
    expect(judged(history, {}).missing).toBe(1);
    expect(judged(history, { remote: [objectOf(1, { startAt: block.start, endAt: block.end })] })).toEqual(NONE);
    change(1, { end: NOW - 10 * DAY_MS }, NOW - 4_000);
    expect(judged(history, {})).toEqual(NONE);
  });
});

describe('removals', () => {
  const removal = { at: NOW, tenant: 'aurora', account: 'doctor', surname: 'Qzxa0001' };

  test('of appointments that the clinic always had are defects', () => {
    const { history, book } = useBooks();
    book(1);
    expect(judged(history, { remote: [objectOf(1)], removals: [removal] })).toEqual({ ...NONE, unjustifiedDeletes: 1 });
  });

  test('are right if two reads half a cycle apart missed the record, in lists and in single requests', () => {
    const { history, book } = useBooks();
    book(1);
    const denied = (times: readonly [readingAt: number, at: number][], id = 'apt1') => {
      const denials = new Denials();
      for (const [readingAt, at] of times) denials.deny(id, NOW + readingAt, NOW + at);
      return judged(history, { remote: [objectOf(1)], removals: [removal], denials: [denials] }).unjustifiedDeletes;
    };
    const first = [-9_000, -8_000] as const;
    expect(denied([[...first], [-4_000, -1]])).toBe(0);
    // The second one came too soon, or after the removal, or was of another appointment, or there was none.
    expect(denied([[...first], [-4_001, -1]])).toBe(1);
    expect(denied([[...first], [-4_000, 1]])).toBe(1);
    expect(denied([[...first], [-4_000, -1]], 'apt2')).toBe(1);
    expect(denied([[...first]])).toBe(1);
  });

  test('are right if the appointment was cancelled shortly before, even if it was restored', () => {
    const { history, book, change } = useBooks();
    book(1);
    change(1, { status: 'Cancelled' }, NOW - 3_000);
    change(1, { status: 'Booked' }, NOW - 1_000);
    expect(judged(history, { remote: [objectOf(1)], removals: [removal] })).toEqual(NONE);
  });
});

describe('a target that reports in sync as of a time', () => {
  test('is correct if it holds the clinic’s state of that time', () => {
    const { history, book } = useBooks();
    book(1);
    expect(claimed(history, { remote: [objectOf(1)] })).toEqual(NONE);
  });

  test.for([
    ['lacks one', []],
    ['holds another time', [objectOf(1, { endAt: NOW })]],
    ['holds one too many', [objectOf(1), objectOf(1, { id: 'again' })]],
  ] as const)('is wrong when it %s', ([, remote]) => {
    const { history, book } = useBooks();
    book(1);
    expect(claimed(history, { remote })).toEqual({ ...NONE, falseInSync: 1 });
  });

  test('may lack later changes, but holds only former or current states', () => {
    const { history, book, change } = useBooks();
    book(1);
    book(2, NOW + 200);
    change(1, { start: NOW + 5 * DAY_MS, end: NOW + 5 * DAY_MS + 1_800_000 }, NOW + 200);
    const moved = objectOf(5, { title: 'Ada Qzxa0001' });
    for (const remote of [[objectOf(1)], [moved], [moved, objectOf(2)]])
      expect(claimed(history, { remote })).toEqual(NONE);
    expect(claimed(history, { remote: [objectOf(9, { title: 'Ada Qzxa0001' })] }).falseInSync).toBe(1);
  });

  test('is wrong when the time is in the future', () => {
    const { history } = useBooks();
    expect(claimed(history, { asOf: NOW + 60_000 })).toEqual({ ...NONE, falseInSync: 1 });
  });

  test('is not blamed for changes by users', () => {
    const { history, book } = useBooks();
    book(1);
    expect(claimed(history, { touched: new Set(['apt1']) })).toEqual(NONE);
  });
});

describe('contacts of a CRM', () => {
  const contact = (changes: object = {}) => ({ lastName: 'Qzxa0001', firstName: 'Ada', phone: '+39 1', ...changes });
  /** A clinic with one patient. */
  function usePatients() {
    const patients = [{ id: 'pat1', lastName: 'Qzxa0001', firstName: 'Ada', phone: '+39 1' as string | null }];
    let granted = true;
    const shown = () =>
      patients.map((patient) => ({ ...patient, details: { consents: { privacy: { granted, date: null } } } }));
    const history = new PatientHistory({ patients: () => shown() as unknown as TruePatient[] }, 'clinic');
    history.note(NOW - 60_000);
    const consent = (isGranted: boolean, at: number) => {
      granted = isGranted;
      history.note(at);
    };
    const end = (at: number) => {
      patients.splice(0);
      history.note(at);
    };
    return { patients, history, consent, end };
  }
  const losses = (history: PatientHistory, field: ContactLoss['field'] = null) =>
    tallyOf(judgeContactLosses('aurora/hubspot', [{ at: NOW, surname: 'Qzxa0001', field }], history));

  test('are lost without a reason if the patient was there with consent', () => {
    expect(losses(usePatients().history)).toEqual({ ...NONE, unjustifiedDeletes: 1 });
    expect(losses(usePatients().history, 'phone')).toEqual({ ...NONE, wrong: 1 });
  });

  test('are rightly lost after a merge, a withdrawn consent or an emptied field', () => {
    const merged = usePatients();
    merged.end(NOW - 5_000);
    expect(losses(merged.history)).toEqual(NONE);
    const withdrawn = usePatients();
    withdrawn.consent(false, NOW - 5_000);
    withdrawn.consent(true, NOW - 4_000);
    expect(losses(withdrawn.history)).toEqual(NONE);
    const emptied = usePatients();
    Object.assign(emptied.patients[0] ?? {}, { phone: null });
    emptied.history.note(NOW - 5_000);
    expect(losses(emptied.history, 'phone')).toEqual(NONE);
    expect(losses(emptied.history)).toEqual({ ...NONE, unjustifiedDeletes: 1 });
  });

  test.each([
    ['nothing', [contact()], []],
    ['nothing of a contact that has a twin', [contact(), contact({ phone: null })], []],
    ['a contact', [], [{ surname: 'Qzxa0001', field: null }]],
    ['a contact without its surname', [contact({ lastName: null })], [{ surname: 'Qzxa0001', field: null }]],
    ['a telephone number', [contact({ phone: null })], [{ surname: 'Qzxa0001', field: 'phone' }]],
  ] as const)('a request took %s', (_, after, found) => {
    const readings = [[contact()], after];
    const lost: unknown[] = [];
    watchContacts(
      () => readings.shift() ?? [],
      (loss) => lost.push(loss),
    )();
    expect(lost).toEqual(found);
  });
});

test('a message is a duplicate if the same phone gets the same text', () => {
  const one = { to: '+39 1', body: 'tomorrow at nine' };
  expect(tallyOf(judgeReminders([one, { ...one, to: '+39 2' }, { ...one, body: 'at ten' }]))).toEqual(NONE);
  expect(tallyOf(judgeReminders([one, one, one]))).toEqual({ ...NONE, doubleReminders: 2 });
});

test('a connection is lost only if an operator has to reconnect', () => {
  const login = (state: string) => ({ connection: state, state, reason: 'refresh-refused' });
  expect(tallyOf(judgeLogins('aurora', ['connected', 'static'].map(login)))).toEqual(NONE);
  const lost = judgeLogins('aurora', ['connected', 'needs-login', 'never'].map(login));
  expect(tallyOf(lost)).toEqual({ ...NONE, lostTokens: 2 });
  expect(lost[0]?.text).toBe('aurora/needs-login: refresh-refused');
});

test('finds a name in the log, in URLs and in metrics, also encoded', () => {
  const places = [
    { name: 'the log', text: '{"msg":"sent to qzxa0001"}' },
    { name: 'addresses', text: `GET /v2/patients?name=${encodeURIComponent('Qzxa0002 è')}` },
    { name: 'Redis', text: Buffer.from('Qzxa0003').toString('hex') },
    { name: '/metrics', text: 'clinic_mirror_writes_total{target="Ada QZXA0004"} 3' },
  ];
  const planted = ['Qzxa0001', 'Qzxa0002 è', 'Qzxa0003', 'Qzxa0004', 'Qzxa0005'];
  expect(tallyOf(judgeLeaks(places, planted))).toEqual({ ...NONE, leaks: 4 });
});

test('the judge uses no code of the product', () => {
  for (const folder of ['', '../crm/']) {
    const files = readdirSync(new URL(`./${folder}`, import.meta.url)).filter((file) => !file.includes('.test.'));
    for (const file of files) {
      const source = readFileSync(new URL(`./${folder}${file}`, import.meta.url), 'utf8');
      const others = importsOf(tokensOf(source)).map(({ specifier }) => specifier);
      expect(others.filter((specifier) => /\/(src|demo)\//.test(specifier))).toEqual([]);
      expect(others.filter((specifier) => !/^\.\.?\/|^ical\.js$/.test(specifier))).toEqual([]);
    }
  }
});

describe('objects that a request removed from a target', () => {
  const [full, busy] = [
    { id: 'a', surnames: ['Qzxa0001'] },
    { id: 'a', surnames: [] },
  ];
  const other = { id: 'b', surnames: ['Qzxa0001'] };

  test.each([
    ['an object that is gone', [full], [], ['Qzxa0001']],
    ['nothing if its title no longer contains a surname', [full], [busy], []],
    ['nothing if another object has the same appointment', [full], [other], []],
  ])('%s', async (_, before, after, removed) => {
    const readings = [before, after];
    const seen: string[] = [];
    const look = await watchRemovals(
      async () => readings.shift() ?? [],
      (surname) => seen.push(surname),
    );
    await look();
    expect(seen).toEqual(removed);
  });
});

import { describe, expect, test } from 'vitest';
import type { TaskView } from '../../../../../src/operator/control/tasks.ts';
import { workNotice } from '../../../../../src/operator/http-server/pages/clinic/work-result.ts';
import { NOW } from '../../../../domain/arbitraries.ts';
import { pageContext, wordsOf } from '../page-context.ts';

const ADDRESS = '/tenants/rossi?task=x';

/** The notice of a task that ended with this result. */
function noticeOf(kind: TaskView['kind'], result: object, language: 'en' | 'it' = 'en') {
  const common = { id: 'x', beganAt: NOW, state: 'done', step: null, error: null } as const;
  return workNotice(pageContext({ language, address: ADDRESS }), { ...common, kind, result });
}

const WELL = { target: 'doctor', pending: 0, failing: 0, held: 0, outage: null, failure: null };

function synced(planned: number, targets: readonly object[], run: object = {}) {
  const report = {
    snapshot: { records: 1_134 },
    error: null,
    targets: [{ target: 'doctor', planned: { new: planned } }],
  };
  return { tenant: 'rossi', run: { ...report, ...run }, targets };
}

describe('the result of a cycle', () => {
  const failure = { code: 'timeout', message: 'no answer', remedy: null };
  const troubled = synced(3, [
    { ...WELL, held: 71, outage: 'one.example', failure },
    { ...WELL, target: 'room', outage: 'two.example', failure },
  ]);

  test('has its figures, with links to holds and problems', () => {
    const notice = noticeOf('sync', troubled);
    expect(wordsOf(notice)).toBe(
      'Sync now: Read 1,134 appointments, wrote 3 changes, 71 changes on hold ; 2 servers do not answer .',
    );
    expect(String(notice)).toContain('<a href="/tenants/rossi/holds">71 changes on hold</a>');
    expect(String(notice)).toContain('<a href="#problems">2 servers do not answer</a>');
  });

  test('is in Italian too', () => {
    expect(wordsOf(noticeOf('sync', troubled, 'it'))).toContain(
      'Letti 1.134 appuntamenti, scritte 3 modifiche, 71 modifiche da confermare ; 2 server non rispondono',
    );
  });

  test.each([
    ['en', 'wrote nothing, because every target already has the current data.'],
    ['it', 'nessuna modifica scritta, perché ogni destinazione ha già i dati attuali.'],
  ] as const)('says in %s that nothing was written', (language, text) => {
    expect(wordsOf(noticeOf('sync', synced(0, [WELL]), language))).toContain(text);
  });

  test('makes no claim about the data after an incomplete list', () => {
    const snapshot = { records: 40, completeness: 'partial' };
    const words = wordsOf(noticeOf('sync', synced(0, [WELL], { snapshot })));
    expect(words).toBe('Sync now: Read 40 appointments, wrote nothing; the list of the clinic was incomplete .');
  });

  test('counts a change as written only if none remains, and leads to failed changes', () => {
    const notice = noticeOf('sync', synced(5, [{ ...WELL, pending: 2, failing: 1 }]));
    expect(wordsOf(notice)).toContain('planned 5 changes, 2 changes still to write , 1 change failed');
    expect(String(notice)).toContain('href="/tenants/rossi/targets/doctor"');
  });

  test('that ended early has the cause and no claim about the data', () => {
    const error = { code: 'clinic-away', message: 'the clinic did not answer', remedy: 'wait' };
    const words = wordsOf(noticeOf('sync', synced(0, [WELL], { snapshot: null, error, targets: [] })));
    expect(words).toContain('The run ended early : the clinic did not answer clinic-away');
    expect(words).toContain('Read no appointments, wrote nothing.');
  });
});

describe('the result of an audit', () => {
  const drift = { checked: 1_200, edited: 2, removed: 1 };
  const targets = [
    { target: 'doctor', policy: 'repair', drift, failure: null },
    { target: 'room', policy: 'repair', drift: null, failure: { code: 'timeout', message: 'no answer', remedy: null } },
  ];

  test('has the changed objects of each target and what follows', () => {
    const notice = noticeOf('audit', { tenant: 'rossi', targets });
    const words = wordsOf(notice);
    expect(words).toContain('Compared 1,200 events and contacts in 1 target, 1 target was not read');
    expect(words).toContain('doctor : 2 edited by hand, 1 removed by hand. The next run restores them.');
    expect(String(notice)).toContain('<a href="/tenants/rossi/targets/doctor">doctor</a>');
    expect(wordsOf(noticeOf('audit', { tenant: 'rossi', targets }, 'it'))).toContain('2 modificati a mano');
  });

  test('says that no change was found', () => {
    const clean = [{ ...targets[0], drift: { ...drift, edited: 0, removed: 0 } }];
    expect(wordsOf(noticeOf('audit', { tenant: 'rossi', targets: clean }))).toContain('found no manual changes.');
  });
});

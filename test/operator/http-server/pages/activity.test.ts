import { describe, expect, test } from 'vitest';
import type { AuditDraft } from '../../../../src/core/model/acts.ts';
import { auditLogInMemory, person } from '../../control/acting.ts';
import { openInstallation } from '../../control/open-installation.ts';
import { OWNER, openPages } from './open-pages.ts';

const NO_CLINIC = openInstallation({ tenants: [] });

describe('the activity', () => {
  test('shows a notice if no log is kept', async () => {
    const { see } = await openPages({ installation: NO_CLINIC, acting: { log: null } });
    expect(await see('/activity')).toContain('dataDirectory');
  });
});

describe('the page of activity', () => {
  const ANNA = person('anna');
  const noted = (changes: Partial<AuditDraft>): AuditDraft => ({
    ...{ act: null, who: ANNA, why: null, verb: 'sync', tenant: 'studio-rossi', what: {}, outcome: 'done', code: null },
    ...changes,
  });

  async function open(drafts: readonly AuditDraft[], visitor = OWNER) {
    const log = auditLogInMemory();
    for (const draft of drafts) await log.append(draft);
    return openPages({ installation: NO_CLINIC, acting: { log }, visitor });
  }

  test('writes a name, a reason and a value as text', async () => {
    const hostile = '<script>alert(1)</script>';
    const { see } = await open([noted({ who: person(hostile), why: hostile, what: { run: hostile } })]);
    const page = await see('/activity');
    expect(page).not.toContain(hostile);
    expect(page.split('&lt;script&gt;')).toHaveLength(4);
  });

  test('describes the actions in words, and marks refused and failed ones with their code', async () => {
    const { see } = await open([noted({}), noted({ verb: 'forget', outcome: 'refused', code: 'not-allowed' })]);
    const page = await see('/activity');
    expect(page).toContain('erased a patient');
    expect(page.match(/<span class="act">[^<]*<\/span>( <code>[\w-]+<\/code>)?/g)).toEqual([
      '<span class="act">refused</span> <code>not-allowed</code>',
    ]);
    expect(await see('/activity', { 'accept-language': 'it' })).toContain('ha cancellato un paziente');
  });

  test('leaves out facts that say nothing, and keeps a zero', async () => {
    const { see } = await open([noted({ what: { target: '', run: null, dry: false, changes: 0 } })]);
    expect(await see('/activity')).toContain(
      '<td role="cell" data-label="Details"><span class="quiet">changes</span> 0</td>',
    );
  });

  test('shows to a user of selected clinics neither other clinics nor the whole installation', async () => {
    const { see } = await open([noted({ verb: 'audit' }), noted({ verb: 'sign-in', tenant: null })], {
      ...OWNER,
      tenants: new Set(['another']),
    });
    expect(await see('/activity')).toContain('No activity yet');
  });

  test('ends after forty lines, and leads to the rest', async () => {
    const { see } = await open(Array.from({ length: 41 }, () => noted({})));
    const first = await see('/activity');
    const next = /rel="next" href="([^"]+)"/.exec(first)?.[1] ?? '';
    expect(first.match(/id="row-act-/g)).toHaveLength(40);
    const last = await see(next.replaceAll('&amp;', '&'));
    expect(last.match(/id="row-act-/g)).toHaveLength(1);
    expect(last).not.toContain('rel="next"');
  });
});

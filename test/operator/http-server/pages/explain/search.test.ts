import { describe, expect, test } from 'vitest';
import { questionOf, renderFound, searchForm } from '../../../../../src/operator/http-server/pages/explain/search.ts';
import { NOW } from '../../../../domain/arbitraries.ts';
import { pageContext, wordsOf } from '../page-context.ts';

const WINDOW = { fromAt: NOW, toAt: NOW + 1 };

describe('a search', () => {
  test('takes each field alone or together, and ignores empty, repeated and unknown values', () => {
    expect(questionOf({ time: ' 10:30 ' })).toEqual({ date: null, time: '10:30', doctor: null, state: null });
    expect(questionOf({ date: '2026-06-16', doctor: '3', state: 'on-hold' })).toEqual({
      ...{ date: '2026-06-16', time: null, doctor: '3', state: 'on-hold' },
    });
    expect(questionOf({ date: '', time: ' ', state: 'well' })).toBeNull();
    expect(questionOf({ date: ['a', 'b'] as unknown as string })).toBeNull();
  });

  test('keeps its values in the form, as texts', () => {
    const agendas = [{ id: '"><b>', name: '', locationId: null, isActive: true }];
    const form = String(searchForm(pageContext(), 'rossi', { doctor: '"><b>', id: '<i>' }, agendas));
    expect(form).toContain('<option value="&quot;&gt;&lt;b&gt;" selected>');
    expect(form).not.toMatch(/<[bi]>/);
  });
});

describe('found appointments', () => {
  const item = { record: 'apt/1', startAt: NOW, doctor: 'Dr Rossi', state: 'on-hold', targets: ['doctor'] } as const;

  test('show time, doctor, state, targets and id, and link to their explanation', () => {
    const page = renderFound(pageContext(), 'rossi', { window: WINDOW, items: [item], more: 2, failure: null });
    expect(wordsOf(page)).toContain('10:00 Dr Rossi on hold doctor apt/1');
    expect(String(page)).toContain('href="/tenants/rossi/explain?id=apt%2F1"');
    expect(wordsOf(page)).toContain('2 more: narrow the search.');
  });

  test('say if there are none, and if the clinic was not read', () => {
    const failure = { code: 'server-error', texts: { message: 'the clinic is away', remedy: null } };
    const words = wordsOf(renderFound(pageContext(), 'rossi', { window: WINDOW, items: [], more: 0, failure }));
    expect(words).toContain('Cannot read the clinic');
    expect(words).toContain('No appointment matches.');
  });
});

import { describe, expect, test } from 'vitest';
import {
  renderAccepted,
  renderDocument,
  renderFeeds,
  renderLinks,
  renderRemoved,
  renderSources,
  renderTokens,
} from '../../../src/operator/cli/render-administration.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { flat } from './arbitraries.ts';

describe('access', () => {
  test('shows tokens with their tenants, or with all tenants if a token has no list', () => {
    const token = { name: 'erp', level: 'read', tenants: ['aurora', 'belvedere'], by: 'ada', endsAt: NOW } as const;
    const tokens = [token, { ...token, name: 'all', tenants: null }] as unknown as Parameters<
      typeof renderTokens
    >[0]['tokens'];
    const text = renderTokens({ tokens });
    expect(text).toMatch(/^erp +read +aurora, belvedere +ada +2026/m);
    expect(text).toMatch(/^all +read +all +ada/m);
    expect(renderTokens({ tokens: [] })).toBe('No tokens exist.');
  });

  test('shows links that are not opened yet', () => {
    const links = [{ id: 'l1', connection: 'clinic', by: 'ada', madeAt: NOW, endsAt: NOW }];
    expect(renderLinks({ links } as Parameters<typeof renderLinks>[0])).toMatch(/^l1 +clinic +ada/m);
    expect(renderLinks({ links: [] } as Parameters<typeof renderLinks>[0])).toBe('No unused links exist.');
  });
});

describe('the configuration of tenants', () => {
  const document = { tenant: 'aurora', file: null, revision: 3, yaml: 'name: Aurora\n', secrets: [], faults: [] };
  const shown = (changes: object) =>
    renderDocument({ ...document, ...changes } as unknown as Parameters<typeof renderDocument>[0]);

  test('shows the file that configures a tenant, or that the tenant is managed, with its revision', () => {
    const items = [
      { tenant: 'aurora', file: 'tenants/aurora.yaml', revision: null },
      { tenant: 'belvedere', file: null, revision: 3 },
    ];
    const text = renderSources({ items, next: null } as unknown as Parameters<typeof renderSources>[0]);
    expect(text).toMatch(/^aurora +tenants\/aurora\.yaml$/m);
    expect(text).toMatch(/^belvedere +managed +3$/m);
    expect(shown({})).toBe('aurora: managed, revision 3.\n\nname: Aurora');
    expect(shown({ file: 'tenants/aurora.yaml', yaml: null })).toBe(
      'aurora: configured by tenants/aurora.yaml; edit this file.',
    );
  });

  test('lists the names of encrypted secrets without their values, and faults before the text', () => {
    const fault = { file: 'aurora', line: 2, path: 'zone', message: 'is no zone', remedy: 'correct it' };
    const text = shown({ secrets: ['sms.token'], faults: [fault] });
    expect(text).toContain('Stored encrypted: sms.token.');
    expect(text.indexOf('is no zone')).toBeLessThan(text.indexOf('name: Aurora'));
  });

  test('shows the accepted state of forged tenants in Redis: a revision, or removed (state-damaged)', () => {
    const accepted = [
      { tenant: 'aurora', revision: '3', file: null },
      { tenant: 'belvedere', revision: null, file: null },
    ];
    expect(flat(renderAccepted({ accepted }))).toMatch(
      /aurora is accepted with the configuration in Redis, revision 3\. Tenant belvedere is accepted as removed/,
    );
    expect(renderAccepted({ accepted: [] })).toContain('nothing was changed');
  });

  test('shows after a removal the file that configures the tenant, if one exists', () => {
    expect(flat(renderRemoved({ tenant: 'aurora', file: 'tenants/aurora.yaml', revision: null }))).toContain(
      'configured by tenants/aurora.yaml; its state and connections remain',
    );
    expect(renderRemoved({ tenant: 'aurora', file: null, revision: null })).toContain('is removed');
  });
});

test('feeds show the creation time of their URL and the number of fetches, or that no URL exists', () => {
  const feeds = [
    { tenant: 'aurora', target: 'room', access: { madeAt: NOW, fetchedAt: null, fetches: 7 } },
    { tenant: 'aurora', target: 'doctor', access: null },
  ];
  const text = renderFeeds({ feeds } as Parameters<typeof renderFeeds>[0]);
  expect(text).toMatch(/^aurora +room +2026-06-15 08:00:00Z +– +7$/m);
  expect(text).toMatch(/^aurora +doctor +none +0$/m);
  expect(renderFeeds({ feeds: [] })).toContain('connector: feed');
});

import { describe, expect, test } from 'vitest';
import { renderAudit } from '../../../src/operator/cli/render-audit.ts';
import { flat } from './arbitraries.ts';

describe('the audit of writes by clinic-mirror', () => {
  const drift = {
    checkedAt: 0,
    checked: 9,
    edited: 0,
    removed: 0,
    unlinked: 0,
    fields: {},
    churning: 0,
    churningFields: [],
  };
  const rendered = (more: object) => {
    const targets = [{ target: 'room', policy: 'keep' as const, drift: { ...drift, ...more }, failure: null }];
    return renderAudit({ tenant: 'studio', targets });
  };

  test('counts late writes', () => {
    expect(rendered({ overwritten: 3 })).toMatch(/^room: 3 objects contained an older write of clinic-mirror/m);
  });

  test('counts duplicate objects', () => {
    expect(rendered({ duplicatesRemoved: 2 })).toMatch(/^room: 2 duplicate objects were removed/m);
  });

  test('shows a differing unknown field as unknown', () => {
    const text = rendered({ fields: { title: 3, unknown: 1 }, churning: 1, churningFields: ['title', 'unknown'] });
    expect(text).toContain('title 3, a field that is not known 1');
    expect(flat(text)).toContain('Fields that differ: title, a field that is not known.');
  });

  test('shows nothing for zero findings', () => {
    expect(rendered({}).split('\n')).toHaveLength(3);
  });
});

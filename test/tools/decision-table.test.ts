import { expect, test } from 'vitest';
import { renderDecisions } from '../../tools/decision-table.ts';

const lease = { file: '2026-11-20-leases.md', text: '# Leases\n\nStatus: accepted\n\n## Context\n' };
const locks = {
  file: '2026-10-01-locks.md',
  text: '# Locks\n\nStatus: superseded by [Leases](2026-11-20-leases.md)\n\n## Context\n',
};

test('lists date, title and status of each record, oldest first', () => {
  expect(renderDecisions([lease, locks]).split('\n')).toEqual([
    '| date | decision | status |',
    '|---|---|---|',
    '| 2026-10-01 | [Locks](2026-10-01-locks.md) | superseded by [Leases](2026-11-20-leases.md) |',
    '| 2026-11-20 | [Leases](2026-11-20-leases.md) | accepted |',
  ]);
});

test.each([
  ['a date', { ...lease, file: 'leases.md' }],
  ['a title', { ...lease, text: 'Status: accepted\n' }],
  ['a status', { ...lease, text: '# Leases\n\n## Context\n' }],
])('refuses a record without %s', (_, record) => {
  expect(() => renderDecisions([record])).toThrow(record.file);
});

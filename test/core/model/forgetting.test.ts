import { expect, test } from 'vitest';
import { signedText } from '../../../src/core/model/forgetting.ts';

test('the signed text of a receipt has sorted members at each level, RFC 3339 and no signature', () => {
  const state = { reminders: 1, pins: 0, answerLinks: 0, journalLines: 0, holds: 0, auditFindings: 0, examples: 0 };
  const receipt = { receipt: 'f1', tenant: 'a', at: 0, tombstone: null, upcoming: 0, targets: [], state, warnings: [] };
  const text = signedText({ ...receipt, signature: 'x' } as typeof receipt);
  expect(text).toBe(signedText(Object.fromEntries(Object.entries(receipt).reverse()) as typeof receipt));
  expect(text).toBe(
    '{"at":"1970-01-01T00:00:00.000Z","receipt":"f1","state":{"answerLinks":0,"auditFindings":0,"examples":0,"holds":0,"journalLines":0,"pins":0,"reminders":1},"targets":[],"tenant":"a","tombstone":null,"upcoming":0,"warnings":[]}',
  );
});

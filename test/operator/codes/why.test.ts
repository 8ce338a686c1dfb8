import { describe, expect, test } from 'vitest';
import { connectors } from '../../../src/connectors/registry.ts';
import { vendorMeaningsOf } from '../../../src/operator/codes/vendor-codes.ts';
import { allCodes, errorCatalogues, explainCode } from '../../../src/operator/codes/why.ts';

describe('a code is explained', () => {
  test('with its part, who must act, an example, the next step and the pages with more', async () => {
    expect(await explainCode('redis-full')).toEqual([
      {
        code: 'redis-full',
        part: 'Configuration and start',
        whoActs: 'action required',
        example: 'Redis has reached its memory limit and refuses every write.',
        meaning: 'Redis has reached `maxmemory` and refuses writes. Raise `maxmemory`; see Redis refuses writes.',
        effect: expect.stringContaining('until someone acts'),
        see: ['docs/runbook.md#redis-refuses-writes'],
      },
    ]);
  });

  test('of a connector, for one record or the whole target', async () => {
    const [one, other] = await explainCode('storage-full');
    expect(one).toMatchObject({ part: 'Targets: caldav', effect: expect.stringContaining('other targets continue') });
    expect(other).toMatchObject({ part: 'Targets: salesforce', example: 'The storage of the org is full.' });
    const [record] = await explainCode('record-too-large');
    expect(record).toMatchObject({ effect: expect.stringContaining('Only this record waits') });
  });

  test('once for each part that reports it', async () => {
    const parts = (await explainCode('rate-limited')).map(({ part }) => part);
    expect(parts.slice(0, 2)).toEqual(['The clinic', 'Problems that are no errors']);
    expect(parts.slice(2)).toContain('Targets: hubspot');
  });

  test('without markup of tables and links', async () => {
    const codes = [...allCodes(), ...vendorMeaningsOf(await errorCatalogues())].map(({ code }) => code);
    const explanations = (await Promise.all(codes.map(explainCode))).flat();
    expect(explanations.length).toBeGreaterThan(400);
    for (const { example, meaning, effect } of explanations) {
      expect(`${example} ${meaning} ${effect}`).not.toMatch(/\]\(|<br>|\\/);
      expect(meaning).toMatch(/[.)]$/);
    }
  });

  test('or a similar one is named', async () => {
    await expect(explainCode('redis-ful')).rejects.toMatchObject({
      code: 'no-such-code',
      remedy: 'a similar code: clinic-mirror why redis-full',
    });
    await expect(explainCode('quite another thing')).rejects.toMatchObject({
      remedy: expect.stringContaining('in brackets behind a message'),
    });
  });
});

test('the codes of every connector are known', async () => {
  expect([...(await errorCatalogues()).keys()]).toEqual(['any', ...connectors.keys()]);
});

import { expect, test } from 'vitest';
import { COMMON, common, defineErrors, NO_WORDS, type VendorErrors } from '../../../src/connectors/errors.ts';
import { ANY, vendorCodesOf, vendorMeaningsOf } from '../../../src/operator/codes/vendor-codes.ts';

const storageFull = { actor: 'settings', retry: 'never', scope: 'target' } as const;
const catalogues = new Map<string, VendorErrors>([
  [ANY, defineErrors('any', NO_WORDS, common('answer-missing'))],
  ['one', defineErrors('hubspot', NO_WORDS, { 'rate-limited': COMMON['rate-limited'], refused: COMMON.refused })],
  [
    'two',
    defineErrors('salesforce', NO_WORDS, { 'rate-limited': COMMON['rate-limited'], 'storage-full': storageFull }),
  ],
]);
const meaningsOf = (code: string) => vendorMeaningsOf(catalogues).filter((one) => one.code === code);

test('a code that connectors share with one text has one meaning, without a name of a vendor', () => {
  expect(meaningsOf('rate-limited')).toEqual([
    {
      ...{ code: 'rate-limited', connectors: ['one', 'two'], whoActs: 'retrying', concerns: 'target' },
      message: 'The vendor limits the number of requests.',
      remedy: expect.stringMatching(/^Retry after \d+ \w+, or after the time in the response\.$/),
    },
  ]);
});

test('a code of one connector names its vendor, and what to do without an own remedy', () => {
  expect(meaningsOf('refused')).toMatchObject([
    {
      connectors: ['one'],
      whoActs: 'action required',
      concerns: 'record',
      message: expect.stringMatching(/^HubSpot /),
    },
  ]);
  expect(meaningsOf('refused')[0]?.remedy).toContain('clinic-mirror explain');
  expect(meaningsOf('storage-full')[0]).toMatchObject({ concerns: 'target', connectors: ['two'] });
});

test('a code of any connector names none', () => {
  expect(meaningsOf('answer-missing')).toMatchObject([{ connectors: [], whoActs: 'retrying', concerns: 'record' }]);
});

test('each code is listed once, sorted', () => {
  const codes = vendorCodesOf(catalogues).map(({ code }) => code);
  expect(codes).toEqual([...new Set(codes)].sort());
  expect(codes).toEqual(expect.arrayContaining(['answer-missing', 'rate-limited', 'refused', 'storage-full']));
});

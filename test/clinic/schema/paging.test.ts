import { describe, expect, test } from 'vitest';
import { pagingSchema, parameterWith, valuedParameter } from '../../../src/clinic/schema/paging.ts';
import { render, textOfIssue } from '../../../src/messages/message.ts';

const issuesOf = (written: object) =>
  pagingSchema.safeParse(written).error?.issues.map(({ message }) => render(textOfIssue(message))) ?? [];

describe('the rules that prove the end of a list', () => {
  test.each([
    [{ style: 'page-size', ends: ['short-page'] }, /short-page requires cap/],
    [{ style: 'offset-limit', ends: ['no-next'] }, /no-next is for the styles cursor/],
    [{ style: 'cursor', ends: ['empty-page'] }, /empty-page is for the styles offset-limit and page-size/],
    [{ style: 'next-link', ends: ['has-more'], hasMorePath: null }, /has-more requires hasMorePath/],
    [{ style: 'page-size', ends: ['total'], totalPath: null }, /total requires totalPath/],
  ])('are refused where they could prove nothing: %j', (written, expected) => {
    expect(issuesOf(written)).toEqual([expect.stringMatching(expected)]);
  });

  test.each([
    { style: 'none' },
    { style: 'page-size', ends: ['short-page'], cap: 100 },
    { style: 'link-header', ends: ['no-next', 'has-more', 'total'] },
    { style: 'offset-limit', ends: ['empty-page'], hasMorePath: null, totalPath: null },
  ])('are taken where they can speak: %j', (written) => {
    expect(issuesOf(written)).toEqual([]);
  });

  test('are by default those that every server of the style obeys', () => {
    const endsOf = (style: string) => (pagingSchema.parse({ style }) as { ends: unknown }).ends;
    expect(['offset-limit', 'page-size'].map(endsOf)).toEqual(Array(2).fill(['has-more', 'empty-page']));
    expect(['cursor', 'next-link', 'link-header'].map(endsOf)).toEqual(Array(3).fill(['no-next']));
  });

  test('cannot be left out', () => {
    expect(pagingSchema.safeParse({ style: 'cursor', ends: [] }).success).toBe(false);
  });
});

describe('a location in an answer', () => {
  test.each(['header:X-Total-Count', 'meta.page.total'])('is a header or a path of the body: %s', (totalPath) => {
    expect(issuesOf({ style: 'none', totalPath })).toEqual([]);
  });

  test.each(['header:', 'header:X Total', 'meta..total', ''])('is not %j', (totalPath) => {
    expect(issuesOf({ style: 'none', totalPath })).toHaveLength(1);
  });
});

test.each<[string, [string, string]]>([
  ['from', ['from', '7,8']],
  ['date=ge', ['date', 'ge7,ge8']],
  ['filter=a=', ['filter', 'a=7,a=8']],
])('a parameter %s may have text before each value', (parameter, sent) => {
  expect(valuedParameter.safeParse(parameter).success).toBe(true);
  expect(parameterWith(parameter, '7', '8')).toEqual(sent);
});

test.each(['', '=ge'])('a parameter needs a name: %j', (parameter) => {
  const [issue] = valuedParameter.safeParse(parameter).error?.issues ?? [];
  expect(render(textOfIssue(issue?.message ?? ''))).toContain('use the name of a query parameter');
});

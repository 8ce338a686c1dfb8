import { z } from 'zod';
import { pagingStyles } from '../../described-api/paging.ts';
import { answerPath } from '../../described-api/path-schemas.ts';
import { issueText, message, type Text } from '../../messages/message.ts';

/** A query parameter's name. */
export const parameter = z.string().min(1).describe('Name of a query parameter.');
/** A query parameter's name, optionally with the beginning of its value: `date=ge`. */
export const valuedParameter = z
  .string()
  .regex(/^[^=]+(?:=.*)?$/, issueText(message('profile.parameter')))
  .describe('Name of a query parameter, optionally with text before its value: `date=ge`.');

/** Returns the query parameter with its values, joined by commas. @param parameter of {@link valuedParameter} */
export function parameterWith(parameter: string, ...values: string[]): [name: string, value: string] {
  const [name = '', ...begin] = parameter.split('=');
  return [name, values.map((value) => `${begin.join('=')}${value}`).join(',')];
}

/** Rules that can prove that a page is the last. The first applicable rule decides. */
const END_RULES = ['has-more', 'total', 'short-page', 'empty-page', 'no-next'] as const;

const endings = {
  ends: z
    .array(z.enum(END_RULES))
    .min(1)
    .describe(
      'Rules that recognize the last page. The first applicable rule decides. With wrong rules, lists remain `partial`, and no missing appointment is ever removed.',
    ),
  hasMorePath: pagingStyles.cursor.shape.hasMorePath.default('hasMore'),
  totalPath: answerPath
    .nullable()
    .default('total')
    .describe('Path of the total. `header:NAME` reads a header. clinic-mirror compares every total with the records.'),
  ignoredPaths: z
    .array(answerPath)
    .max(20)
    .default([])
    .describe(
      'Fields outside the records that say nothing about further records. Without paging, any other token, link, flag or number above the count makes the list `partial`; with paging, any other field whose name means more records or pages. A remark names the field.',
    ),
};
const cap = z
  .int()
  .min(1)
  .nullable()
  .default(null)
  .describe('Maximum number of records per page that the server returns. `null`: unknown.');
const unpagedCap = z
  .int()
  .min(1)
  .nullable()
  .default(null)
  .describe(
    'Maximum number of records in one response. A response of this size is not complete. A number that no list reaches means no limit; `null` means unknown.',
  );
const countingEnds = endings.ends.default(['has-more', 'empty-page']);
const followingEnds = endings.ends.default(['no-next']);

const sizeParameter = parameter.nullable().default('limit');

/** Paging of a list: one of six styles, with the names of its parameters and the rules that prove the end. */
export const pagingSchema = z
  .discriminatedUnion('style', [
    pagingStyles.none.extend({
      hasMorePath: endings.hasMorePath,
      totalPath: endings.totalPath,
      cap: unpagedCap,
      ignoredPaths: endings.ignoredPaths,
    }),
    pagingStyles['offset-limit'].extend({
      ...endings,
      cap,
      ends: countingEnds,
      offsetParameter: parameter.default('offset'),
      limitParameter: parameter.default('limit'),
    }),
    pagingStyles['page-size'].extend({
      ...endings,
      cap,
      ends: countingEnds,
      pageParameter: parameter.default('page'),
      sizeParameter: parameter.default('pageSize'),
    }),
    pagingStyles.cursor.extend({
      ...endings,
      cap,
      ends: followingEnds,
      cursorParameter: parameter.default('cursor'),
      cursorPath: pagingStyles.cursor.shape.cursorPath.default('nextCursor'),
      sizeParameter,
    }),
    pagingStyles['next-link'].extend({
      ...endings,
      cap,
      ends: followingEnds,
      linkPath: pagingStyles['next-link'].shape.linkPath.default('links.next'),
      sizeParameter,
    }),
    pagingStyles['link-header'].extend({ ...endings, cap, ends: followingEnds, sizeParameter }),
  ])
  .superRefine((paging, context) => {
    if (paging.style === 'none') return;
    const follows = !['offset-limit', 'page-size'].includes(paging.style);
    const complain = (text: Text) => context.addIssue({ code: 'custom', path: ['ends'], message: issueText(text) });
    if (paging.ends.includes('short-page') && paging.cap === null) {
      complain(message('profile.short-page'));
    }
    if (paging.ends.includes('no-next') && !follows) complain(message('profile.no-next'));
    if (paging.ends.includes('empty-page') && follows) complain(message('profile.empty-page'));
    if (paging.ends.includes('has-more') && paging.hasMorePath === null) complain(ruleNeeds('has-more', 'hasMorePath'));
    if (paging.ends.includes('total') && paging.totalPath === null) complain(ruleNeeds('total', 'totalPath'));
  });

function ruleNeeds(rule: EndRule, setting: keyof typeof endings): Text {
  return message('profile.rule-needs', { rule, setting });
}

/** Paging of one list. */
export type Paging = z.infer<typeof pagingSchema>;
/** A rule that can prove the end of a list. */
export type EndRule = (typeof END_RULES)[number];

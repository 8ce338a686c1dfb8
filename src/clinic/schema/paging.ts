import { z } from 'zod';
import { issueText, message, type Text } from '../../messages/message.ts';
import { PATH_PATTERN } from './paths.ts';

/** Where a value is in an answer. */
export const path = z
  .string()
  .regex(new RegExp(`^${PATH_PATTERN}$`), issueText(message('profile.path')))
  .describe(
    'Where a value is in a JSON object: field names joined by dots; in lists phones.0, phones[].number (first value), telecom[system=phone].value.',
  );
/** Where a time is in a row: at one place, or its date at one and its time of day at another. */
export const timePath = z
  .string()
  .regex(new RegExp(`^${PATH_PATTERN}(?: \\+ ${PATH_PATTERN})?$`), issueText(message('profile.time-path')))
  .describe('Where a time is in a JSON object: field names joined by dots; date + time of day where they come apart.');
/** Where an answer tells something of paging: in its body, or in a header (RFC 9110 section 5.1 says what a header's name is made of). */
const answerPath = z
  .string()
  .regex(/^(?:header:[\w!#$%&'*+.^`|~-]+|(?!header:)[^\s.]+(?:\.[^\s.]+)*)$/, issueText(message('profile.answer-path')))
  .describe('Where an answer tells it: field names joined by dots, or header:NAME.');
/** A query parameter's name. */
export const parameter = z.string().min(1).describe('Name of a query parameter.');

/** Rules that can prove that a page is the last; the first that can speak of a page decides. */
const END_RULES = ['has-more', 'total', 'short-page', 'empty-page', 'no-next'] as const;

const endings = {
  ends: z
    .array(z.enum(END_RULES))
    .min(1)
    .describe('What proves that a page is the last; the first rule that can speak of a page decides.'),
  hasMorePath: answerPath
    .nullable()
    .default('hasMore')
    .describe('Where a page tells whether more follow; header:NAME = in that header.'),
  totalPath: answerPath
    .nullable()
    .default('total')
    .describe(
      'Where a list tells its total; header:NAME = in that header. It is compared with the rows whenever told.',
    ),
};
const pageSize = {
  size: z.int().min(1).max(10_000).default(200).describe('Rows asked for per page.'),
  cap: z.int().min(1).nullable().default(null).describe('Most rows that the server gives per page; null = not known.'),
};
const unpagedCap = z
  .int()
  .min(1)
  .nullable()
  .default(null)
  .describe(
    'Most rows that the server gives in one answer: one with so many doesn’t count as whole. A number that no list reaches says that there is no limit; null = not known.',
  );
const countingEnds = endings.ends.default(['has-more', 'empty-page']);
const followingEnds = endings.ends.default(['no-next']);

/** How a list pages: one of six styles, with the names of its parameters and the rules that prove its end. */
export const pagingSchema = z
  .discriminatedUnion('style', [
    z.strictObject({
      style: z.literal('none'),
      hasMorePath: endings.hasMorePath,
      totalPath: endings.totalPath,
      cap: unpagedCap,
    }),
    z.strictObject({
      style: z.literal('offset-limit'),
      ...endings,
      ...pageSize,
      ends: countingEnds,
      offsetParameter: parameter.default('offset'),
      limitParameter: parameter.default('limit'),
      startIndex: z.int().min(0).max(1).default(0).describe('What the first row or page counts as.'),
    }),
    z.strictObject({
      style: z.literal('page-size'),
      ...endings,
      ...pageSize,
      ends: countingEnds,
      pageParameter: parameter.default('page'),
      sizeParameter: parameter.default('pageSize'),
      startIndex: z.int().min(0).max(1).default(1).describe('What the first row or page counts as.'),
    }),
    z.strictObject({
      style: z.literal('cursor'),
      ...endings,
      ...pageSize,
      ends: followingEnds,
      cursorParameter: parameter.default('cursor'),
      cursorPath: answerPath
        .default('nextCursor')
        .describe('Where a page holds the cursor of the next; header:NAME = in that header.'),
      sizeParameter: parameter.nullable().default('limit'),
    }),
    z.strictObject({
      style: z.literal('next-link'),
      ...endings,
      ...pageSize,
      ends: followingEnds,
      linkPath: answerPath
        .default('links.next')
        .describe(
          'Where a page holds the address of the next: a text, an object with href or url, or a list of links, of which that with rel or relation "next" counts; header:NAME = in that header.',
        ),
      sizeParameter: parameter.nullable().default('limit'),
    }),
    z.strictObject({
      style: z.literal('link-header'),
      ...endings,
      ...pageSize,
      ends: followingEnds,
      sizeParameter: parameter.nullable().default('limit'),
    }),
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

/** How one list pages. */
export type Paging = z.infer<typeof pagingSchema>;
/** A rule that can prove the end of a list. */
export type EndRule = (typeof END_RULES)[number];

import { z } from 'zod';
import { answerPath } from './path-schemas.ts';

const flagged = {
  hasMorePath: answerPath
    .nullable()
    .default(null)
    .describe('Path of the flag for further pages. `header:NAME` reads a header.'),
};
const counted = {
  ...flagged,
  totalPath: answerPath.nullable().default(null).describe('Path of the total. `header:NAME` reads a header.'),
};
const size = { size: z.int().min(1).max(10_000).default(200).describe('Records to request per page.') };
const startIndex = z.int().min(0).max(1).describe('Number of the first record or page.');

/** The styles of paging, with the parts that every description spells alike. A description adds its own parts. */
export const pagingStyles = {
  none: z.strictObject({ style: z.literal('none') }),
  'offset-limit': z.strictObject({
    style: z.literal('offset-limit'),
    ...counted,
    ...size,
    startIndex: startIndex.default(0),
  }),
  'page-size': z.strictObject({
    style: z.literal('page-size'),
    ...counted,
    ...size,
    startIndex: startIndex.default(1),
  }),
  cursor: z.strictObject({
    style: z.literal('cursor'),
    ...flagged,
    ...size,
    cursorPath: answerPath.describe("Path of the next page's cursor. `header:NAME` reads a header."),
  }),
  'next-link': z.strictObject({
    style: z.literal('next-link'),
    ...flagged,
    ...size,
    linkPath: answerPath.describe(
      "Path of the next page's URL: a string, an object with `href` or `url`, or a list of links with `rel` or `relation` equal to `next`. `header:NAME` reads a header.",
    ),
  }),
  'link-header': z.strictObject({ style: z.literal('link-header'), ...flagged, ...size }),
} as const;

/** Name of a style of paging. */
export type PagingStyle = keyof typeof pagingStyles;

import { z } from 'zod';
import { issueText, message } from '../messages/message.ts';
import { PATH_PATTERN, parsePath } from './paths.ts';

/** Path of a value in an answer. */
export const path = z
  .string()
  .regex(new RegExp(`^${PATH_PATTERN}$`), issueText(message('described.path')))
  .describe(
    'Path in a JSON object: field names joined by dots. In lists: `phones.0` (index), `phones[].number` (first value), `telecom[system=phone].value` (match).',
  );
/** Schema of a list of paths. */
export const paths = z
  .array(path)
  .max(10)
  .describe('Paths, in order of preference. The first path with a value applies. `[]`: there is no value.');
/** Path of a value in an answer, or `.` for the answer itself. */
export const wholePath = z
  .string()
  .regex(new RegExp(`^(?:\\.|${PATH_PATTERN})$`), issueText(message('described.whole-path')))
  .describe('Path in a JSON object, or `.`: the object itself.');
/** Path of the list in an answer, optionally with the path of the record in each element. */
export const listPath = wholePath
  .refine(
    (written) => {
      const steps = parsePath(written);
      return steps.filter(({ within }) => within !== undefined).length <= 1 && steps.at(-1)?.after === undefined;
    },
    issueText(message('described.list-path')),
  )
  .describe(
    'Path of the list in a response, optionally with `[]` and the path of the record in each element. `.`: the response itself.',
  );
/** Path of a time in a row, or separate paths of its date and time of day. */
export const timePath = z
  .string()
  .regex(new RegExp(`^${PATH_PATTERN}(?: \\+ ${PATH_PATTERN})?$`), issueText(message('described.time-path')))
  .describe('Path of a time in a JSON object. Join two paths with ` + ` for separate date and time fields.');
/** Location of a paging value in an answer: in the body, or in a header (RFC 9110 section 5.1 defines header names). */
export const answerPath = z
  .string()
  .regex(
    /^(?:header:[\w!#$%&'*+.^`|~-]+|(?!header:)[^\s.]+(?:\.[^\s.]+)*)$/,
    issueText(message('described.answer-path')),
  )
  .describe('Path in the response: field names joined by dots, or `header:NAME`.');

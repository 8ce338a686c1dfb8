import { toCalendarObject } from '../../../src/connectors/caldav/from-model.ts';
import { itemWith, keyOf, sealedRecordIdOf } from '../../contract/contract-kit.ts';
import {
  found,
  MARK,
  member,
  multistatus,
  type Script,
  type ScriptedAnswer,
  type SeenRequest,
  stored,
} from './scripted-server.ts';

/** The object of a record as a server holds it. */
export function ours(recordId: string, ownerTag = MARK): string {
  const item = itemWith();
  const key = keyOf(recordId);
  return toCalendarObject({
    key,
    ownerTag,
    sealedRecordId: sealedRecordIdOf(recordId),
    revision: 1,
    item,
    writtenAt: 0,
    stored: null,
  });
}

/** Kinds of read requests. */
type Kind = 'query' | 'sync' | 'multiget' | 'list';

export function kindOf({ method, body }: SeenRequest): Kind {
  if (method === 'PROPFIND') return 'list';
  if (body.includes('calendar-query')) return 'query';
  return body.includes('sync-collection') ? 'sync' : 'multiget';
}

/** A server that holds objects by href, answers multigets from them, and everything else from `answers`. */
export function holding(objects: Record<string, string>, answers: Partial<Record<Kind, Script>>): Script {
  return (request) => {
    const told = answers[kindOf(request)];
    if (told !== undefined) return told(request);
    const hrefs = [...request.body.matchAll(/<D:href>([^<]*)/g)].map(([, href]) => href!);
    const entries = hrefs.map((href) =>
      objects[href] === undefined ? member(href, '404 Not Found') : stored(href, '"1"', objects[href]),
    );
    return multistatus(...entries);
  };
}

/** A member with only its tag. */
export const etag = (href: string) => found(href, '<d:getetag>"1"</d:getetag>');
/** Says that members were left out. */
export const TRUNCATED = member(
  '/cal/',
  '507 Insufficient Storage',
  '<d:error><d:number-of-matches-within-limits/></d:error>',
);
/** Ends an answer with a sync token. */
export const withToken = (answer: ScriptedAnswer, token: string): ScriptedAnswer => ({
  ...answer,
  body: answer.body!.replace('</d:multistatus>', `<d:sync-token>${token}</d:sync-token></d:multistatus>`),
});

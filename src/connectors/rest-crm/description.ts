import { z } from 'zod';
import { isTransportHeader } from '../../core/model/header-names.ts';
import type { StreamName } from '../../core/model/items.ts';
import { errorPaths } from '../../described-api/errors.ts';
import { type PagingStyle, pagingStyles } from '../../described-api/paging.ts';
import { listPath, path, paths, wholePath } from '../../described-api/path-schemas.ts';
import { ITSELF } from '../../described-api/paths.ts';
import { pageAt, placeholdersIn } from '../../described-api/templates.ts';
import { valueStyles } from '../../described-api/value-styles.ts';
import { issueText, message, type Text } from '../../messages/message.ts';
import { TEXT_FORMS } from '../fitting.ts';
import { BATCH_SIZE } from './limits.ts';

const field = z.string().regex(/^[A-Za-z][A-Za-z0-9_.]{0,99}$/, issueText(message('mapping.property')));
const whole = (least: number, most: number) => z.int().min(least).max(most);

/** Headers that the connector or the transport sets. */
const isOwnHeader = (name: string) => isTransportHeader(name) || /^authorization$/i.test(name);
const headers = z.record(
  z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]*$/)
    .refine((name) => !isOwnHeader(name), issueText(message('description.header'))),
  z.string().regex(/^[\x20-\x7e]*$/),
);

/** Names that the templates of a description may use. */
type Placeholder =
  | ('key' | 'keys' | 'keyField' | 'stampField' | 'fields' | 'id' | 'ids' | 'contactId' | 'properties')
  | ('startAt' | 'rows' | 'versionTag' | 'ownerTag' | 'page' | 'offset' | 'size' | 'cursor');

/** Values of the placeholders of one call. */
export type CrmValues = Partial<Record<Placeholder, unknown>>;

/** Values with patient data, which must not be in URLs: proxies and servers log URLs. */
const BODY_ONLY = new Set<string>(['properties', 'rows'] satisfies Placeholder[]);

/** Schema of a request, which may contain only the placeholders in `knows`. */
function call(...knows: Placeholder[]) {
  const allowed = new Set<string>(knows);
  return z
    .strictObject({
      method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
      /** Path below the base URL. Placeholders are percent-encoded. */
      path: z.string().regex(/^\/[^?#\\]*$/, issueText(message('description.call-path'))),
      query: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
      headers: headers.default({}),
      /** JSON with placeholders. */
      body: z.unknown().optional(),
      /** Whether the response reports errors per object, so that one error does not fail the request. */
      partial: z.boolean().default(false),
      /** Statuses outside 200 to 299 that mean: nothing found (a search or a list), or already deleted (a deletion). */
      nothing: z.array(whole(400, 499)).default([]),
    })
    .superRefine((value, context) => {
      const { body: _body, ...address } = value;
      const open = placeholdersIn(address).find((name) => BODY_ONLY.has(name));
      if (open !== undefined) {
        context.addIssue({
          code: 'custom',
          message: issueText(message('description.body-only', { placeholder: shown(open) })),
        });
      }
      const strange = placeholdersIn(value).find((name) => !allowed.has(name));
      if (strange === undefined) return;
      context.addIssue({ code: 'custom', message: issueText(unknownPlaceholder(strange, knows)) });
    });
}

/** Returns a placeholder with its braces. */
function shown(name: string): string {
  return `{{${name}}}`;
}

function unknownPlaceholder(name: string, allowed: readonly Placeholder[]): Text {
  const placeholder = shown(name);
  if (allowed.length === 0) return message('description.no-placeholder', { placeholder });
  return message('description.placeholder', { placeholder, placeholders: allowed.map(shown).join(', ') });
}

/** Returns a refinement that requires one of these placeholders, without which the call has no purpose. */
function needs(...oneOf: Placeholder[]) {
  const placeholders = oneOf
    .map((name): Text => shown(name))
    .reduce((one, other) => message('settings.or', { one, other }));
  return [
    (template: unknown) => placeholdersIn(template).some((name) => (oneOf as string[]).includes(name)),
    issueText(message('description.needs', { placeholders })),
  ] as const;
}

const SELECT = ['fields', 'keyField', 'stampField'] as const;
const WRITE = ['key', 'properties', 'contactId', 'startAt'] as const;

const paging = z.discriminatedUnion('style', [
  pagingStyles.none,
  pagingStyles['offset-limit'],
  pagingStyles['page-size'],
  pagingStyles.cursor,
  pagingStyles['next-link'],
  pagingStyles['link-header'],
]);

/** Placeholders without which each page would be the first, by style. */
const POSITIONS: Partial<Record<PagingStyle, Placeholder>> = {
  'offset-limit': 'offset',
  'page-size': 'page',
  cursor: 'cursor',
};

function hasPosition(style: PagingStyle, request: unknown): boolean {
  const position = POSITIONS[style];
  return position === undefined || needs(position)[0](request);
}

const resource = z.strictObject({
  /** Property for the key: text, unique if the CRM can enforce uniqueness. */
  keyField: field,
  /** Property for the stamp: text of at least 200 characters. */
  stampField: field.optional(),
  /** Paths in an object to its id, and to a value that every change modifies. */
  row: z
    .strictObject({
      id: path.default('id'),
      versionTag: path.optional(),
      /**
       * Path to the contact of the object: an id, an object with `id`, or a list of these. If absent in an object, the contact is unknown.
       */
      contact: path.optional(),
    })
    .prefault({}),
  /** Web page of an object, with `{{id}}`: an absolute URL, or a URL relative to `baseUrl`, as in `../../#Contact/view/{{id}}`. */
  page: z
    .string()
    .refine(...needs('id'))
    .refine(
      (template) => placeholdersIn(template).every((name) => name === 'id'),
      issueText(message('description.only', { placeholder: shown('id') })),
    )
    .refine(
      (template) => pageAt('https://crm.example.com', template, '1') !== null,
      issueText(message('description.page')),
    )
    .optional(),
  /** Properties besides the key that must be unique. A refused object is written again without these properties. */
  unique: z.array(field).default([]),
  /** Limits of properties by name, if the CRM does not report them with its fields. */
  limits: z
    .record(
      field,
      z.strictObject({
        longest: whole(1, 1_000_000).optional(),
        form: z.enum(TEXT_FORMS).optional(),
        required: z.boolean().optional(),
      }),
    )
    .default({}),
  /**
   * Properties that are true after a refusal. `by` names the property with whose value the CRM stores the refusal, as for an opt-out of an
   * e-mail address.
   */
  refusals: z.array(z.strictObject({ property: field, by: field.nullable().default(null) })).default([]),
  find: z
    .strictObject({
      call: call('key', 'keys', ...SELECT).refine(...needs('key', 'keys')),
      listPath,
      /** Keys per request; above 1, the request contains `{{keys}}`. */
      size: whole(1, 200).default(1),
      /** Quote around each key in `{{keys}}`, which is a list; in a longer string, the keys are separated by commas. */
      quote: z.string().max(1).default(''),
    })
    .refine(({ size, call: request }) => size === 1 || needs('keys')[0](request), {
      message: issueText(message('description.keys', { placeholder: shown('keys') })),
      path: ['size'],
    }),
  /** Fetches one object by id; a status in `nothing` means an absent object. */
  get: z
    .strictObject({ call: call('id', ...SELECT).refine(...needs('id')), recordPath: wholePath.default(ITSELF) })
    .optional(),
  create: z
    .strictObject({
      call: call(...WRITE, ...SELECT).refine(...needs('properties')),
      recordPath: wholePath.optional(),
      id: wholePath.optional(),
    })
    .refine(
      ({ recordPath, id }) => recordPath !== undefined || id !== undefined,
      issueText(message('description.created')),
    ),
  update: z.strictObject({
    call: call('id', 'versionTag', ...WRITE, ...SELECT)
      .refine(...needs('id'))
      .refine(...needs('properties')),
    recordPath: wholePath.optional(),
  }),
  upsert: z
    .strictObject({
      call: call('rows', ...SELECT).refine(...needs('rows')),
      /** Template for one element of `{{rows}}`. */
      body: z.unknown().refine(...needs('properties')),
      size: whole(1, BATCH_SIZE),
      /** One result per object, in the order of the objects. */
      listPath,
      status: path.describe('Path to the status of a result: was the object accepted?'),
      taken: z.array(z.union([z.string(), z.number(), z.boolean()])).min(1),
      id: path,
      effect: path.optional(),
      created: z.string().default('insert'),
    })
    .refine(({ body }) => placeholdersIn(body).every((name) => (WRITE as readonly string[]).includes(name)), {
      message: issueText(message('description.row', { placeholders: WRITE.map(shown).join(', ') })),
      path: ['body'],
    })
    .optional(),
  delete: z.strictObject({
    call: call('id', 'key', 'versionTag').refine(...needs('id', 'key')),
    /** Whether deletion is permanent, without a recycle bin. */
    isForGood: z.boolean().default(false),
  }),
  /**
   * Deletes several objects by id. Objects that the response does not confirm are deleted separately, as are objects that require `erase`
   * afterwards.
   */
  deleteMany: z
    .strictObject({
      call: call('ids').refine(...needs('ids')),
      size: whole(2, BATCH_SIZE),
      /** Separator between ids in one string; without a separator, the ids are a list. */
      separator: z.string().min(1).max(3).optional(),
      /** Path to the results of the objects. */
      listPath,
      status: path.describe('Path to the status of a result: was the record deleted?'),
      taken: z.array(z.union([z.string(), z.number(), z.boolean()])).min(1),
      id: path,
    })
    .optional(),
  /** Sent after a deletion that must erase a patient's data. */
  erase: z.strictObject({ call: call('id', 'key').refine(...needs('id', 'key')) }).optional(),
  list: z
    .strictObject({
      call: call('page', 'offset', 'size', 'cursor', 'ownerTag', ...SELECT),
      listPath,
      paging,
    })
    .refine(({ paging: { style }, call: request }) => hasPosition(style, request), {
      message: issueText(
        message('description.paging', { placeholders: Object.values(POSITIONS).map(shown).join(', ') }),
      ),
      path: ['paging'],
    }),
  /** Lists all objects of all creators, with `listPath` and paging as in `list`; absent if `list` has no filter by owner. */
  listAll: z.strictObject({ call: call('page', 'offset', 'size', 'cursor', ...SELECT) }).optional(),
  /** The CRM's list of properties, for checking names. */
  fields: z
    .strictObject({
      call: call(),
      at: wholePath.describe('A list of descriptions, or an object by name'),
      name: path.optional().describe('Where a description has its name; absent for an object by name'),
      depth: z.enum(['first-name', 'whole-name']).default('first-name'),
      type: path.optional().describe('Where a description has its type'),
      endings: z
        .record(z.string(), z.array(z.string().min(1)))
        .default({})
        .describe('By type: the suffix in the names of values, such as Id in assignedUserId of assignedUser'),
      longest: path.optional().describe('Where a description has the most characters of a text'),
      required: path.optional().describe('Where a description says that no record is made without a value'),
      forms: z
        .record(z.string(), z.enum(TEXT_FORMS))
        .default({})
        .describe('By type: what a text must be. `whole`: what is too long is left out, and not shortened'),
      options: z
        .strictObject({ at: path, value: wholePath.default(ITSELF), label: wholePath.default(ITSELF) })
        .optional()
        .describe('Path of the list of allowed values in a description: texts, or objects with a value and a label'),
    })
    .optional(),
});

/** Meanings of the CRM's statuses and error codes. */
export const MEANINGS = ['retry', 'throttled', 'login', 'forbidden', 'refused', 'changed', 'several'] as const;

export type Meaning = (typeof MEANINGS)[number];

/** Whole description of a CRM's REST API. */
export const descriptionSchema = z.strictObject({
  /** Scheme before the token in the Authorization header, which replaces the connection's scheme. */
  scheme: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]*$/)
    .optional(),
  headers: headers.default({}),
  values: valueStyles.prefault({}),
  /** Meaning of a dot in property names: a nested object, or no meaning. */
  names: z.enum(['nested', 'flat']).default('nested'),
  errors: z
    .strictObject({
      /** In a response or in an object's result. Only names of the CRM's properties are reported. */
      codePaths: errorPaths.codePaths.default([]),
      detailPaths: errorPaths.detailPaths.default([]),
      /**
       * Locations of an invalid field in an error text, with the text before and after the name. The last match applies, since a refused value
       * may precede it. If a response failed only by its status (500) and contains a field, the object is refused.
       */
      fieldsInWords: z
        .array(z.strictObject({ at: path, before: z.string().min(1), after: z.string().min(1) }))
        .default([]),
      /** Paths whose presence means an error with any status. */
      present: paths.default(['error', 'errors']),
      statuses: z.record(z.string().regex(/^[345]\d\d$/), z.enum(MEANINGS)).default({}),
      codes: z.record(z.string(), z.enum(MEANINGS)).default({}),
    })
    .prefault({}),
  /** Additional members in the body of writes, so that the CRM runs no automations. */
  withoutAutomations: z.record(z.string(), z.unknown()).optional(),
  streams: z
    .strictObject({ patients: resource.optional(), appointments: resource.optional(), invoices: resource.optional() })
    .superRefine((streams, context) => {
      for (const stream of ['appointments', 'invoices'] as const) {
        const described = streams[stream];
        if (described === undefined) continue;
        if (described.stampField === undefined) {
          context.addIssue({
            code: 'custom',
            message: issueText(message('description.stamp')),
            path: [stream, 'stampField'],
          });
        }
        if (streams.patients === undefined) {
          context.addIssue({
            code: 'custom',
            message: issueText(message('description.patients')),
            path: ['patients'],
          });
        }
      }
    }),
});

/** Parsed description, with all defaults. */
export type CrmDescription = z.output<typeof descriptionSchema>;
/** Description as written in a file. */
export type WrittenDescription = z.input<typeof descriptionSchema>;
/** Calls for finding and writing one type of object. */
export type CrmResource = NonNullable<CrmDescription['streams']['patients']>;
/** Request of a description. */
export type CrmCall = CrmResource['find']['call'];

/** Checks whether contacts from before clinic-mirror can be listed, fetched and distinguished from own contacts. */
export function hasContacts({ stampField, get, list, listAll }: CrmResource): boolean {
  const asksForOwner = placeholdersIn(list.call).includes('ownerTag');
  return stampField !== undefined && get !== undefined && (listAll !== undefined || !asksForOwner);
}

/** Returns the streams whose objects a deletion with `erase` removes permanently. */
export function erasedStreams({ streams }: CrmDescription): StreamName[] {
  return (Object.keys(streams) as StreamName[]).filter((stream) => {
    const described = streams[stream];
    return described !== undefined && (described.delete.isForGood || described.erase !== undefined);
  });
}

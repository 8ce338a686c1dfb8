import { z } from 'zod';
import { issueText, message, type Text } from '../../messages/message.ts';
import type { StreamName } from '../../model/items.ts';
import { TEXT_FORMS } from '../fitting.ts';
import { BATCH_SIZE } from './limits.ts';
import {
  BOOLEAN_STYLES,
  DATE_STYLES,
  INSTANT_STYLES,
  isPath,
  NULL_STYLES,
  type Placeholder,
  pageAt,
  placeholdersIn,
} from './templates.ts';

const path = z.string().refine(isPath, issueText(message('description.path')));
const field = z.string().regex(/^[A-Za-z][A-Za-z0-9_.]{0,99}$/, issueText(message('mapping.property')));
const whole = (least: number, most: number) => z.int().min(least).max(most);

/** Headers that the connector or the transport set. */
const OWN_HEADERS = /^(authorization|content-type|content-length|host|connection|transfer-encoding|cookie)$/i;
const headers = z.record(
  z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]*$/)
    .refine((name) => !OWN_HEADERS.test(name), issueText(message('description.header'))),
  z.string().regex(/^[\x20-\x7e]*$/),
);

/** Values of patients: servers on the way write down addresses. */
const BODY_ONLY = new Set<string>(['properties', 'rows'] satisfies Placeholder[]);

/** A request. Only the placeholders that `knows` may stand in it. */
function call(...knows: Placeholder[]) {
  const allowed = new Set<string>(knows);
  return z
    .strictObject({
      method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
      /** Below the base address; placeholders are percent-encoded. */
      path: z.string().regex(/^\/[^?#\\]*$/, issueText(message('description.call-path'))),
      query: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
      headers: headers.default({}),
      /** JSON with placeholders. */
      body: z.unknown().optional(),
      /** The answer tells of errors row by row, so that one of them is no failure of all. */
      partial: z.boolean().default(false),
      /** Statuses beside 200 to 299 that mean: nothing is there (a search or a list), or gone already (a delete). */
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

/** A placeholder as it is written. */
function shown(name: string): string {
  return `{{${name}}}`;
}

function unknownPlaceholder(name: string, allowed: readonly Placeholder[]): Text {
  const placeholder = shown(name);
  if (allowed.length === 0) return message('description.no-placeholder', { placeholder });
  return message('description.placeholder', { placeholder, placeholders: allowed.map(shown).join(', ') });
}

/** A refinement: without one of these placeholders the call could not do what it is for. */
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

const paging = z.discriminatedUnion('by', [
  z.strictObject({ by: z.literal('none') }),
  z.strictObject({
    by: z.literal('page'),
    first: whole(0, 1).default(1),
    more: path.optional(),
    total: path.optional(),
  }),
  z.strictObject({ by: z.literal('offset'), more: path.optional(), total: path.optional() }),
  z.strictObject({ by: z.literal('cursor'), next: path, more: path.optional() }),
  z.strictObject({ by: z.literal('link'), next: z.union([z.literal('header'), path]) }),
]);

const resource = z.strictObject({
  /** Holds the key: a text property, unique where the CRM can enforce it. */
  keyField: field,
  /** Holds the stamp: a text property of at least 200 characters. */
  stampField: field.optional(),
  /** Where a row has its id, and what changes with each change, whatever makes it. */
  row: z
    .strictObject({
      id: path.default('id'),
      versionTag: path.optional(),
      /** What the contact is that it belongs to: an id, an object with `id`, or a list of these. Absent in a row: not told. */
      contact: path.optional(),
    })
    .prefault({}),
  /** The page where people work with a record, with `{{id}}`: a whole address, or one from `baseUrl` on, as in `../../#Contact/view/{{id}}`. */
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
  /** Properties beside the key that no two records may have the same: one that is refused is written again without them. */
  unique: z.array(field).default([]),
  /** What properties take, where the CRM does not tell it with its fields: by name. */
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
  /** Properties that are true for whoever refuses; `by`: the one with whose value the CRM keeps it, as an opt-out with its address. */
  refusals: z.array(z.strictObject({ property: field, by: field.nullable().default(null) })).default([]),
  find: z
    .strictObject({
      call: call('key', 'keys', ...SELECT).refine(...needs('key', 'keys')),
      rows: path,
      /** Keys of one request; above 1 the request has `{{keys}}`. */
      size: whole(1, 200).default(1),
      /** Around each key in `{{keys}}`, which is a list; in a longer text they stand with commas between. */
      quote: z.string().max(1).default(''),
    })
    .refine(({ size, call: request }) => size === 1 || needs('keys')[0](request), {
      message: issueText(message('description.keys', { placeholder: shown('keys') })),
      path: ['size'],
    }),
  /** Reads one by id; a status in `nothing` means that it is gone. */
  get: z.strictObject({ call: call('id', ...SELECT).refine(...needs('id')), row: path.default('') }).optional(),
  create: z
    .strictObject({
      call: call(...WRITE, ...SELECT).refine(...needs('properties')),
      row: path.optional(),
      id: path.optional(),
    })
    .refine(({ row, id }) => row !== undefined || id !== undefined, issueText(message('description.created'))),
  update: z.strictObject({
    call: call('id', 'versionTag', ...WRITE, ...SELECT)
      .refine(...needs('id'))
      .refine(...needs('properties')),
    row: path.optional(),
  }),
  upsert: z
    .strictObject({
      call: call('rows', ...SELECT).refine(...needs('rows')),
      /** One row of `{{rows}}`. */
      body: z.unknown().refine(...needs('properties')),
      size: whole(1, BATCH_SIZE),
      /** One answer for each row, in the order of the rows. */
      rows: path,
      status: path.describe('Where a row says whether it was taken'),
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
    /** What is deleted is in no bin, and can't be brought back. */
    isForGood: z.boolean().default(false),
  }),
  /** Deletes several at once by id; what it does not tell as deleted is deleted alone, as are records that are erased after. */
  deleteMany: z
    .strictObject({
      call: call('ids').refine(...needs('ids')),
      size: whole(2, BATCH_SIZE),
      /** Between ids that go as one text; without it they are a list. */
      separator: z.string().min(1).max(3).optional(),
      /** What became of each record. */
      rows: path,
      status: path.describe('Where a row says whether its record was deleted'),
      taken: z.array(z.union([z.string(), z.number(), z.boolean()])).min(1),
      id: path,
    })
    .optional(),
  /** Sent after a delete when a person is to be forgotten. */
  erase: z.strictObject({ call: call('id', 'key').refine(...needs('id', 'key')) }).optional(),
  list: z
    .strictObject({
      call: call('page', 'offset', 'size', 'cursor', 'ownerTag', ...SELECT),
      rows: path,
      size: whole(1, 2_000).default(100),
      paging,
    })
    .refine(({ paging: { by }, call: request }) => by === 'none' || by === 'link' || needs(by)[0](request), {
      message: issueText(
        message('description.paging', { placeholders: ['page', 'offset', 'cursor'].map(shown).join(', ') }),
      ),
      path: ['paging'],
    }),
  /** A list of all, whoever made them, with rows and paging as `list`; absent where `list` asks for no owner. */
  listAll: z.strictObject({ call: call('page', 'offset', 'size', 'cursor', ...SELECT) }).optional(),
  /** The CRM's own list of properties, to check names against. */
  fields: z
    .strictObject({
      call: call(),
      at: path.describe('A list of descriptions, or an object by name'),
      name: path.optional().describe('Where a description has its name; absent for an object by name'),
      depth: z.enum(['first-name', 'whole-name']).default('first-name'),
      type: path.optional().describe('Where a description has its type'),
      endings: z
        .record(z.string(), z.array(z.string().min(1)))
        .default({})
        .describe('By type: what stands behind the name in the names of values, as in assignedUserId of assignedUser'),
      longest: path.optional().describe('Where a description has the most characters of a text'),
      required: path.optional().describe('Where a description says that no record is made without a value'),
      forms: z
        .record(z.string(), z.enum(TEXT_FORMS))
        .default({})
        .describe('By type: what a text must be. `whole`: what is too long is left out, and not shortened'),
      options: z
        .strictObject({ at: path, value: path.default(''), label: path.default('') })
        .optional()
        .describe(
          'Where a description lists the values that people choose from: texts, or what has a value and a label',
        ),
    })
    .optional(),
});

/** What a status or an error code of the CRM means. */
export const MEANINGS = ['retry', 'throttled', 'login', 'forbidden', 'refused', 'changed', 'several'] as const;

/** One of {@link MEANINGS}. */
export type Meaning = (typeof MEANINGS)[number];

/** The whole description of a CRM's REST API. */
export const descriptionSchema = z.strictObject({
  /** The word before the token in the Authorization header, in place of the connection's own. */
  scheme: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]*$/)
    .optional(),
  headers: headers.default({}),
  values: z
    .strictObject({
      date: z.enum(DATE_STYLES).default('date'),
      instant: z.enum(INSTANT_STYLES).default('iso'),
      boolean: z.enum(BOOLEAN_STYLES).default('boolean'),
      null: z.enum(NULL_STYLES).default('null'),
    })
    .prefault({}),
  /** What a dot in a property's name means: an object within the object, or nothing. */
  names: z.enum(['nested', 'flat']).default('nested'),
  errors: z
    .strictObject({
      /** Where an answer, or the row of one, has the error's code: the first that is there counts. */
      code: z.array(path).default([]),
      /** Where an answer, or the row of one, names the fields at fault. Only names of properties that the CRM has are told. */
      fields: z.array(path).default([]),
      /**
       * Where words of an answer name a field at fault, and between what: the last such place counts, since a refused value may stand before
       * it. An answer that failed by its status alone (500) and names one refuses the record.
       */
      fieldsInWords: z
        .array(z.strictObject({ at: path, before: z.string().min(1), after: z.string().min(1) }))
        .default([]),
      /** Something here means an error, whatever the status. */
      present: z.array(path).default(['error', 'errors']),
      statuses: z.record(z.string().regex(/^[345]\d\d$/), z.enum(MEANINGS)).default({}),
      codes: z.record(z.string(), z.enum(MEANINGS)).default({}),
    })
    .prefault({}),
  /** What a write carries beside, so that the CRM's automations don't run on it: members of its body. */
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

/** A description as read, with all defaults. */
export type CrmDescription = z.output<typeof descriptionSchema>;
/** A description as it is written. */
export type WrittenDescription = z.input<typeof descriptionSchema>;
/** How one kind of record is found and written. */
export type CrmResource = NonNullable<CrmDescription['streams']['patients']>;
/** One request of a description. */
export type CrmCall = CrmResource['find']['call'];

/** Whether contacts that were there before us can be listed, read and told from ours. */
export function knowsExisting({ stampField, get, list, listAll }: CrmResource): boolean {
  const asksForOwner = placeholdersIn(list.call).includes('ownerTag');
  return stampField !== undefined && get !== undefined && (listAll !== undefined || !asksForOwner);
}

/** Streams whose records a deletion with `erase` takes out for good. */
export function erasedStreams({ streams }: CrmDescription): StreamName[] {
  return (Object.keys(streams) as StreamName[]).filter((stream) => {
    const described = streams[stream];
    return described !== undefined && (described.delete.isForGood || described.erase !== undefined);
  });
}

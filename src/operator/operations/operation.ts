import type { z } from 'zod';
import type { AccessLevel, AccessRights, ActFacts } from '../../core/model/acts.ts';
import { MirrorError } from '../../core/model/errors.ts';
import type { Progress, TaskKind } from '../../core/model/tasks.ts';
import type { StopSignals } from '../../engine/push.ts';
import type { Language } from '../../messages/message.ts';
import { render, textOfIssue } from '../../messages/message.ts';
import type { AccessServices } from '../control/access.ts';
import type { ClinicAccess } from '../control/clinic.ts';
import type { StateProbe } from '../control/doctor.ts';
import type { Installation } from '../control/installation.ts';
import type { LoginServices } from '../control/logins.ts';
import { type ActAbout, type Acting, recordAct } from '../control/recording.ts';
import type { Statuses } from '../control/statuses.ts';
import type { Document } from '../documents/document.ts';

/**
 * Services that operations use. Services that few operations need are opened on first use. A feature adds services by declaration merging.
 */
export interface Services {
  installation: Installation;
  statuses: Statuses;
  logins(): Promise<LoginServices>;
  access(): Promise<AccessServices>;
  /** Returns the clinic API of a tenant. @throws MirrorError as `requireTenant` */
  clinic(tenant: string): Promise<ClinicAccess>;
  state(): Promise<StateProbe>;
  /** Public URL; null if no public port is open. */
  publicUrl: string | null;
}

/** Context in which an operation runs. */
export interface OperationContext {
  services: Services;
  /** The caller, and the reason given. */
  acting: Acting;
  /** Access rights of the caller. */
  rights: AccessRights;
  progress: Progress;
  signals: StopSignals;
}

/** Route of an operation in the HTTP API. */
export interface HttpBinding {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `/api/v1`. Names in braces are input fields. Other fields come from the query of a GET, or from the body. */
  path: string;
  /** Name of an additional route below `/tenants/{tenant}`. The main route has no tenant field. */
  ofTenant?: string;
  /** Input values that this route sets. */
  fixed?: Readonly<Record<string, unknown>>;
  /** Largest body in bytes; default: 64 KiB. */
  bodyLimit?: number;
  /** The `revision` of the output is the ETag, and the header If-Match gives `ifMatch` of the input (RFC 9110 section 13.1.1). */
  isRevised?: boolean;
  /** The operation finds the tenant without the router, because the tenant might not run. */
  isOfAny?: boolean;
  /** A slow operation: after a few seconds the caller gets a task to poll. */
  task?: TaskKind;
}

/** Command option for one input field. Default: `--<field in kebab case>`, with the description of the field. */
export interface OptionBinding {
  /** Syntax of commander: `--day [date]`. */
  flags?: string;
  about?: string;
  /** Value if the option is given without a value. */
  preset?: string;
  /** Makes the field value from the text of the file that the option names. */
  fromFile?(text: string): unknown;
}

/** Command of an operation. Each input field is an option, unless the field is an argument, a fixed value or standard input. */
export interface CommandBinding<Input> {
  /** Words, and arguments named after input fields: `reminders opt-out <tenant> <kind>`. */
  words: string;
  /** Default: the summary of the operation. */
  about?: string;
  /** The terminal prints the first rows of each list, so the command has --limit and --all. */
  isList?: boolean;
  /** Default subcommand of its group. */
  isDefault?: boolean;
  /** Input values that this command sets. */
  fixed?: Partial<Input>;
  options?: Partial<Record<keyof Input & string, OptionBinding>>;
  /** Input field filled with the text of the argument's file; without an argument, of standard input. */
  reads?: { field: keyof Input & string; argument?: string };
  /** Option that selects this one of several operations with equal words. Without the option, another binding or the default applies. */
  by?: {
    flags: string;
    about: string;
    isUsual?: boolean;
    /** Input field filled with the text of the option's file. */
    file?: keyof Input & string;
  };
  /** Option that writes a part of the result to a new file with owner-only permissions. */
  writes?: { flags: string; about: string; of(result: unknown): string };
  /** The output is plain text for a program, so the command has no `--json`. */
  isText?: boolean;
  /** The command needs only its own tenant, so files of other tenants are not read. */
  isOfOneTenant?: boolean;
  /** The answer lists refused changed files, so the CLI does not list the files again. */
  reportsRefused?: boolean;
  /** Returns the fields of `--json` for this input; null: all fields. */
  jsonFields?(input: Input): readonly string[] | null;
}

/** Tool of an operation in the Model Context Protocol. Only operations without changes and without patient data are allowed. */
export interface AssistantBinding<Input, Result> {
  name: string;
  about: string;
  /** Input values that this tool sets. The assistant sets the other fields, except paging: a tool returns the full list. */
  fixed?: Partial<Input>;
  /** Output fields that an assistant receives. */
  output: z.ZodObject;
  /** Arranges the result as `output`. Default: the result itself. */
  of?(result: Result): unknown;
}

/** A value that the receiver must not change. */
export type Immutable<Value> = Value extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Immutable<Value[Key]> }
    : Value;

/** Declaration of an operation. */
export interface OperationDefinition<
  Input extends z.ZodObject,
  Output extends z.ZodType,
  Result extends Immutable<z.input<Output>> = Immutable<z.input<Output>>,
> {
  /** Begins with a verb, in lower case, without a period. Describes route and command. */
  summary: string;
  level: AccessLevel;
  input: Input;
  /** Fields missing from this schema are never shown. */
  output: Output;
  http: HttpBinding | null;
  commands: readonly CommandBinding<z.output<Input>>[];
  assistants?: readonly AssistantBinding<z.output<Input>, Result>[];
  /**
   * Facts for the audit log before the operation begins; null if this input changes nothing. Operations without `audit` never change data.
   * If `audit` throws, the operation did not begin. `itself`: `run` writes the audit log, by `acting`.
   */
  audit?:
    | 'itself'
    | ((input: z.output<Input>, context: OperationContext) => ActAbout | null | Promise<ActAbout | null>);
  run(input: z.output<Input>, context: OperationContext): Promise<Result>;
  /** Loads the function that makes a document of the result, for the terminal and the page of the operation. */
  document?(): Promise<(result: Result, language: Language) => Document>;
  /** Clinic page that shows the document. The page sets only the tenant, so all other input fields need a default. */
  page?: {
    path: string;
    names: Readonly<Record<Language, string>>;
    /** Whether the navigation of a clinic has the page; always if absent. */
    isOf?(tenant: { reminders: object | null }): boolean;
  };
  /** Returns facts of the result for the audit log. */
  auditResult?(result: Result): ActFacts;
  /** Exit code 1 of the command, although the operation succeeded. */
  endsWithOne?: { when: string; holds(result: Result, input: z.output<Input>): boolean };
  /** Exit code 2 of the command: the checked settings have faults. */
  endsWithTwo?(result: Result): boolean;
}

/** Declares an operation. API, CLI, assistant tools, audit log and reference pages are generated from the declaration. */
export function operation<
  Input extends z.ZodObject,
  Output extends z.ZodType,
  Result extends Immutable<z.input<Output>>,
>(definition: OperationDefinition<Input, Output, Result>): OperationDefinition<Input, Output, Result> {
  const { audit, auditResult, run } = definition;
  if (audit === undefined || audit === 'itself') return definition;
  return {
    ...definition,
    async run(input, context) {
      const about = await audit(input, context);
      const work = () => run(input, context);
      return about === null ? work() : recordAct(context.acting, about, work, auditResult);
    },
  };
}

/** An operation with any input and output. */
export type AnyOperation = Omit<
  OperationDefinition<z.ZodObject, z.ZodType>,
  'commands' | 'assistants' | 'document' | 'audit' | 'auditResult' | 'endsWithOne' | 'endsWithTwo' | 'run'
> & {
  commands: readonly CommandBinding<Record<string, unknown>>[];
  endsWithOne?: { when: string; holds(result: unknown, input: Record<string, unknown>): boolean };
  endsWithTwo?(result: unknown): boolean;
  assistants?: readonly AssistantBinding<Record<string, unknown>, unknown>[];
  document?(): Promise<(result: unknown, language: Language) => Document>;
  audit?: unknown;
  run(input: Record<string, unknown>, context: OperationContext): Promise<unknown>;
};

/** Input of an operation, parsed by the schema. */
export type InputOf<Operation> = Operation extends { run(input: infer Input, context: OperationContext): unknown }
  ? Input
  : never;
/** Result of an operation, before the output schema removes fields. */
export type ResultOf<Operation> = Operation extends { run(...parameters: never[]): Promise<infer Result> }
  ? Result
  : never;

/**
 * Checks the input of a caller that reads full lists, without paging.
 * @throws MirrorError `settings`, code `request-invalid`
 */
export function inputOf({ input }: AnyOperation, fields: Record<string, unknown>, remedy: string) {
  const { success, data, error } = input.safeParse(fields);
  if (success) return 'after' in input.shape ? { ...data, limit: Number.MAX_SAFE_INTEGER } : data;
  const [{ path, message } = { path: [], message: '' }] = error.issues;
  const field = path.length === 0 ? '' : `${path.join('.')}: `;
  throw new MirrorError(`${field}${render(textOfIssue(message))}`, {
    actor: 'settings',
    code: 'request-invalid',
    retry: 'never',
    remedy,
  });
}

import type { z } from 'zod';
import type { AccessServices } from '../control/access.ts';
import type { ClinicAccess } from '../control/clinic.ts';
import type { StateProbe } from '../control/doctor.ts';
import type { Installation } from '../control/installation.ts';
import type { LoginServices } from '../control/logins.ts';
import { type ActAbout, type Acting, recordAct } from '../control/recording.ts';
import type { Statuses } from '../control/statuses.ts';
import type { Document } from '../documents/document.ts';
import type { StopSignals } from '../jobs/push.ts';
import type { Language } from '../messages/message.ts';
import { render, textOfIssue } from '../messages/message.ts';
import type { AccessLevel, AccessRights, ActFacts } from '../model/acts.ts';
import { MirrorError } from '../model/errors.ts';
import type { Progress, TaskKind } from '../model/tasks.ts';

/** What operations work on. Parts that few operations use are opened when they are asked for; a feature adds its own by declaration merging. */
export interface Services {
  installation: Installation;
  statuses: Statuses;
  logins(): Promise<LoginServices>;
  access(): Promise<AccessServices>;
  /** The clinic API of a tenant. @throws MirrorError as `requireTenant` */
  clinic(tenant: string): Promise<ClinicAccess>;
  state(): Promise<StateProbe>;
  /** How others reach the public port; null if none is open. */
  publicUrl: string | null;
}

/** What an operation is run with, besides its input. */
export interface OperationContext {
  services: Services;
  /** Who runs the operation, and why. */
  acting: Acting;
  /** What the caller may see and do. */
  rights: AccessRights;
  progress: Progress;
  signals: StopSignals;
}

/** How the HTTP API offers an operation. */
export interface HttpBinding {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `/api/v1`. Names in braces are fields of the input; all others come from the query of a GET, else from the body. */
  path: string;
  /** The same of one tenant, below `/tenants/{tenant}`, has a route of this name; the tenant is no field of the other route. */
  ofTenant?: string;
  /** Values that this route gives. */
  fixed?: Readonly<Record<string, unknown>>;
  /** Largest body in bytes; default: 64 KiB. */
  bodyLimit?: number;
  /** The output has a `revision`: it is the ETag, and `ifMatch` of the input comes from the header If-Match (RFC 9110 section 13.1.1). */
  isRevised?: boolean;
  /** The operation looks for its tenant itself, since the tenant may be one that does not run. */
  isOfAny?: boolean;
  /** The operation may take long: after some seconds the caller gets a task to ask for. */
  task?: TaskKind;
}

/** An option of a command for one field of the input. Default: `--<field in kebab case>`, with the field's description. */
export interface OptionBinding {
  /** As commander reads them: `--day [date]`. */
  flags?: string;
  about?: string;
  /** The value if the option has none. */
  preset?: string;
  /** The value of the field is made of the text of the file that the option names. */
  fromFile?(text: string): unknown;
}

/** How the command line offers an operation. All fields that are neither arguments nor fixed nor from standard input are options. */
export interface CommandBinding<Input> {
  /** Words with arguments that are fields of the input: `reminders opt-out <tenant> <kind>`. */
  words: string;
  /** Default: the summary of the operation. */
  about?: string;
  /** The answer has lists of which the terminal shows the first rows: the command has --limit and --all. */
  isList?: boolean;
  /** It is what the words before it do by themselves. */
  isDefault?: boolean;
  /** Values that this command gives. */
  fixed?: Partial<Input>;
  options?: Partial<Record<keyof Input & string, OptionBinding>>;
  /** The field that is the text of the file that an argument names, else of standard input. */
  reads?: { field: keyof Input & string; argument?: string };
  /** Of several operations with the same words, an option selects this one. Without its option another binding, or the usual one, counts. */
  by?: {
    flags: string;
    about: string;
    isUsual?: boolean;
    /** The field that is the text of the file that the option names. */
    file?: keyof Input & string;
  };
  /** An option writes a part of the result into a new file that only its owner may read. */
  writes?: { flags: string; about: string; of(result: unknown): string };
  /** The answer is a text for a program: there is no `--json`. */
  isText?: boolean;
  /** The command looks at its tenant alone, so that files of other tenants need not be read. */
  isOfOneTenant?: boolean;
  /** The answer says which changed files are refused: the command line does not say it too. */
  reportsRefused?: boolean;
  /** Fields that `--json` has with this input; null: all. */
  jsonFields?(input: Input): readonly string[] | null;
}

/** How assistants are offered an operation over the Model Context Protocol: only operations that change nothing, and no data of patients. */
export interface AssistantBinding<Input, Result> {
  /** Name of the tool. */
  name: string;
  about: string;
  /** Values that this tool gives; all other fields of the input are the assistant's, except those of pages: a tool answers the whole list. */
  fixed?: Partial<Input>;
  /** What an assistant sees: fields of the operation's output. */
  output: z.ZodObject;
  /** Moves fields to where `output` has them. Default: they stay. */
  of?(result: Result): unknown;
}

/** A value that its receiver does not change. */
export type Immutable<Value> = Value extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Immutable<Value[Key]> }
    : Value;

/** One thing that an operator can ask for, as it is declared. */
export interface OperationDefinition<
  Input extends z.ZodObject,
  Output extends z.ZodType,
  Result extends Immutable<z.input<Output>> = Immutable<z.input<Output>>,
> {
  /** Verb first, lower case, without a period: the description of route and command. */
  summary: string;
  level: AccessLevel;
  input: Input;
  /** What is not in it leaves on no surface. */
  output: Output;
  http: HttpBinding | null;
  commands: readonly CommandBinding<z.output<Input>>[];
  assistants?: readonly AssistantBinding<z.output<Input>, Result>[];
  /**
   * What the audit log says of it, before it is begun; null for an operation that changes nothing with this input. An operation without this
   * changes nothing with any input. What it throws was not begun. `itself`: `run` records it, by `acting`.
   */
  audit?:
    | 'itself'
    | ((input: z.output<Input>, context: OperationContext) => ActAbout | null | Promise<ActAbout | null>);
  run(input: z.output<Input>, context: OperationContext): Promise<Result>;
  /** Loads what makes a document of the result: the terminal prints it, and a page if the operation has one. */
  document?(): Promise<(result: Result, language: Language) => Document>;
  /** The page of a clinic that shows the document. It gives the tenant alone: all other fields of the input need a default. */
  page?: { path: string; names: Readonly<Record<Language, string>> };
  /** What the audit log says of the result. */
  auditResult?(result: Result): ActFacts;
  /** Its commands exit with 1 if this holds, although the operation was run. */
  endsWithOne?: { when: string; holds(result: Result, input: z.output<Input>): boolean };
  /** Its commands exit with 2 if this holds: the settings that were checked have faults. */
  endsWithTwo?(result: Result): boolean;
}

/** Declares an operation. The API, the command line, assistants, the audit log and the reference pages are made from it. */
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

/** An operation whatever it takes and gives. */
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

/** The input of an operation after its schema. */
export type InputOf<Operation> = Operation extends { run(input: infer Input, context: OperationContext): unknown }
  ? Input
  : never;
/** What an operation answers, before its schema takes out what leaves on no surface. */
export type ResultOf<Operation> = Operation extends { run(...parameters: never[]): Promise<infer Result> }
  ? Result
  : never;

/**
 * Checks the input of a caller who takes all of a list instead of its pages.
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

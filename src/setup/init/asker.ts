import { parse } from 'yaml';
import { MirrorError } from '../../core/model/errors.ts';
import { message } from '../../messages/message.ts';

/** A question of `init`. Each question has a line with the reason, or with the source of the answer. */
export interface Question {
  /** Key in a file of answers, such as `calendars.0.kind`. */
  id: string;
  ask: string;
  why: string;
}

/** A question with one line of text as the answer. */
export interface TextQuestion extends Question {
  /** Default for an empty input. */
  usual?: string;
  /** The answer may be empty. */
  isOptional?: boolean;
  /** Returns the fault of an answer, or undefined. */
  check?(text: string): string | undefined;
}

/** A question with a few possible answers. */
interface ChoiceQuestion<Value extends string = string> extends Question {
  choices: readonly { value: Value; label: string }[];
}

/** Source of answers: an operator in a terminal, or a file. */
export interface Asker {
  /** True if a refused answer can be corrected. */
  readonly isPerson: boolean;
  /** Returns an answer that only a file can give, because the default fits almost every clinic; null if not set. */
  presetAnswer(id: string): string | null;
  text(question: TextQuestion): Promise<string>;
  /** Asks for a text that the terminal must not show. */
  secret(question: TextQuestion): Promise<string>;
  choice<Value extends string>(question: ChoiceQuestion<Value>): Promise<Value>;
  /** Returns at least one choice. */
  choices<Value extends string>(question: ChoiceQuestion<Value>): Promise<Value[]>;
  /** Asks whether a list continues. @param count present length; the first element is required, so 0 is not asked */
  another(id: string, count: number, ask: string): Promise<boolean>;
  /** Prints a text that is not a question. */
  report(text: string): void;
}

/**
 * Reads answers from a YAML file by question id: `calendars.0.kind` is `kind` in the first element of the list `calendars`. A secret may be
 * `{ env: NAME }`.
 * @throws MirrorError `settings`, code `answers-unusable`; from its methods `answer-missing`, `answer-refused`
 */
export function answersOf(text: string, env: NodeJS.ProcessEnv, show: (text: string) => void, file = 'given'): Asker {
  const answers = parsed(text);
  const at = (id: string): unknown =>
    id.split('.').reduce((value: unknown, key) => {
      return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? Reflect.get(value, key)
        : undefined;
    }, answers);
  const textOf = async (question: TextQuestion): Promise<string> => {
    const { id, usual, isOptional = false, check } = question;
    const answer = plain(at(id), env) ?? usual ?? (isOptional ? '' : null);
    if (answer === null) throw missing(file, question);
    const wrong = answer === '' && isOptional ? undefined : check?.(answer);
    if (wrong !== undefined) throw refused(question, wrong);
    return answer;
  };
  const chosen = <Value extends string>(question: ChoiceQuestion<Value>, values: readonly unknown[]): Value[] =>
    values.map((value) => {
      const found = question.choices.find((choice) => choice.value === String(value));
      if (found === undefined)
        throw refused(question, `choose from: ${question.choices.map((one) => one.value).join(', ')}`);
      return found.value;
    });
  return {
    isPerson: false,
    presetAnswer: (id) => plain(at(id), env),
    text: textOf,
    secret: textOf,
    async choice(question) {
      const answer = at(question.id) ?? question.choices[0]?.value;
      const [value] = chosen(question, [answer]);
      if (value === undefined) throw missing(file, question);
      return value;
    },
    async choices(question) {
      const answer = at(question.id);
      if (answer === 'all') return question.choices.map(({ value }) => value);
      if (answer === undefined || answer === null) throw missing(file, question, formOf(question));
      if (!Array.isArray(answer) || answer.length === 0) throw refused(question, formOf(question));
      return chosen(question, answer);
    },
    async another(id, count) {
      const list = at(id);
      return count === 0 || (Array.isArray(list) && count < list.length);
    },
    report: show,
  };
}

function parsed(text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new MirrorError(message('answers-unreadable'), {
      ...{ actor: 'settings', code: 'answers-unusable', retry: 'never', cause: error },
      remedy: message('answers-unreadable.remedy'),
    });
  }
}

/** Returns an answer as text, or null without an answer. */
function plain(value: unknown, env: NodeJS.ProcessEnv): string | null {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'object' && value !== null && 'env' in value) return env[String(value.env)] ?? null;
  return null;
}

/** Returns how a list of choices is written, with the possible ones. */
function formOf({ id, choices }: ChoiceQuestion<string>): string {
  const values = choices.map(({ value }) => value);
  return `write ${id.split('.').at(-1)}: [${values[0] ?? ''}], or all; choose from: ${values.join(', ')}`;
}

function missing(file: string, { id, ask }: Question, form: string | null = null): MirrorError {
  return new MirrorError(message('answer-missing', { file, id, ask }), {
    ...{ actor: 'settings', code: 'answer-missing', retry: 'never' },
    remedy: form ?? message('answer-missing.remedy', { id, file }),
  });
}

function refused({ id }: Question, wrong: string): MirrorError {
  return new MirrorError(message('answer-unusable', { id }), {
    ...{ actor: 'settings', code: 'answer-refused', retry: 'never' },
    remedy: wrong,
  });
}

/** Returns the description of a setting as a question, without its full stop. */
export function questionOf({ description }: { description: string }): string {
  return description.replace(/\.$/, '');
}

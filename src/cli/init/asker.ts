import { parse } from 'yaml';
import { message } from '../../messages/message.ts';
import { MirrorError } from '../../model/errors.ts';

/** A question to whoever sets up: each has a line that says why, or where the answer is found. */
export interface Question {
  /** Its place in a file of answers, such as `calendars.0.kind`. */
  id: string;
  ask: string;
  why: string;
}

/** One line of text. */
export interface TextQuestion extends Question {
  /** Taken when nothing is typed. */
  usual?: string;
  /** It may stay empty. */
  isOptional?: boolean;
  /** What is wrong with an answer; undefined when nothing is. */
  check?(text: string): string | undefined;
}

/** One of a few. */
interface ChoiceQuestion<Value extends string = string> extends Question {
  choices: readonly { value: Value; label: string }[];
}

/** Whoever answers: a person in a terminal, or a file. */
export interface Asker {
  /** A person can answer again after a refusal. */
  readonly isPerson: boolean;
  /** An answer that only a file gives, since the usual value fits nearly all; null for none. */
  presetAnswer(id: string): string | null;
  text(question: TextQuestion): Promise<string>;
  /** As text, and not shown while it is typed. */
  secret(question: TextQuestion): Promise<string>;
  choice<Value extends string>(question: ChoiceQuestion<Value>): Promise<Value>;
  /** One or more of them. */
  choices<Value extends string>(question: ChoiceQuestion<Value>): Promise<Value[]>;
  /** Whether a list has one more entry. @param count how many it has; the first one is never asked about */
  another(id: string, count: number, ask: string): Promise<boolean>;
  /** Says something that is no question. */
  report(text: string): void;
}

/**
 * Answers of a YAML file, by the ids of the questions: `calendars.0.kind` is `kind` in the first entry of the list `calendars`. A secret may
 * be `{ env: NAME }`.
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
        throw refused(question, `choose of: ${question.choices.map((one) => one.value).join(', ')}`);
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
      if (!Array.isArray(answer) || answer.length === 0) throw missing(file, question);
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

/** An answer as text: null where there is none. */
function plain(value: unknown, env: NodeJS.ProcessEnv): string | null {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'object' && value !== null && 'env' in value) return env[String(value.env)] ?? null;
  return null;
}

function missing(file: string, { id, ask }: Question): MirrorError {
  return new MirrorError(message('answer-missing', { file, id, ask }), {
    ...{ actor: 'settings', code: 'answer-missing', retry: 'never' },
    remedy: message('answer-missing.remedy', { id, file }),
  });
}

function refused({ id }: Question, wrong: string): MirrorError {
  return new MirrorError(message('answer-unusable', { id }), {
    ...{ actor: 'settings', code: 'answer-refused', retry: 'never' },
    remedy: wrong,
  });
}

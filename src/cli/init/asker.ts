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
export interface ChoiceQuestion<Value extends string = string> extends Question {
  choices: readonly { value: Value; label: string }[];
}

/** Whoever answers: a person in a terminal, or a file. */
export interface Asker {
  /** A person can answer again after a refusal. */
  readonly isPerson: boolean;
  /** An answer that only a file gives, since the usual value fits nearly all; null for none. */
  given(id: string): string | null;
  text(question: TextQuestion): Promise<string>;
  /** As text, and not shown while it is typed. */
  secret(question: TextQuestion): Promise<string>;
  choice<Value extends string>(question: ChoiceQuestion<Value>): Promise<Value>;
  /** One or more of them. */
  choices<Value extends string>(question: ChoiceQuestion<Value>): Promise<Value[]>;
  /** Whether a list has one more entry. @param count how many it has; the first one is never asked about */
  another(id: string, count: number, ask: string): Promise<boolean>;
  /** Says something that is no question. */
  tell(text: string): void;
}

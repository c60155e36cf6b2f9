/** A start that cannot continue, with one sentence that says what to change. */
export class StartFailure extends Error {
  override name = 'StartFailure';
}

interface MessageType {
  decode(bytes: Uint8Array): object;
}

/** A message as its schema describes it. The compiled schema is not known to the compiler, so the caller says what it is. */
export function decodeAs<Message>(type: MessageType, bytes: Uint8Array): Message {
  const message: unknown = type.decode(bytes);
  return message as Message;
}

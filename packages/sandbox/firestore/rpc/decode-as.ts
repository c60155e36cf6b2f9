interface MessageType {
  decode(bytes: Uint8Array): object;
}

/** Decodes a message. The compiler does not know the schema, so the caller names the type. */
export function decodeAs<Message>(type: MessageType, bytes: Uint8Array): Message {
  const message: unknown = type.decode(bytes);
  return message as Message;
}

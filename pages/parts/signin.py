"""Sign-in, where it is configured: nothing of the app is drawn for a person who has not signed in."""

import streamlit as st


def require() -> None:
    """End the script with a sign-in button unless no sign-in is configured or the person has signed in."""
    if not configured() or getattr(st.user, "is_logged_in", False):
        return
    st.title("Intelligence per Dollar", anchor=False)
    st.button("Sign in", type="primary", icon=":material/login:", on_click=st.login)
    st.stop()


def configured() -> bool:
    """Whether secrets.toml has an [auth] section, without which the app listens on this machine only."""
    return bool(st.secrets.load_if_toml_exists()) and "auth" in st.secrets

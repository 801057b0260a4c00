"""The monitor: starts instances and shows all of a namespace, live, in the terminal.

    watcher (a thread)  -- what the Inspector and the error store say -->  |
    children            -- what became of the processes started here --->  |  model: state + observation -> state
    the keyboard        -- keys --------------------------------------->  |                  |
                                                                                             v
                                                       page: state, time, size -> lines of text, each with its tones
                                                                                             |
                                            app (Textual): paints the lines that changed; or plain: a line per event

Everything between an observation and a line of text is a pure function. Nothing that comes from outside is ever read as
markup: a line is text and tones, and text is made harmless where it enters a line.
"""
